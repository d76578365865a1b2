"""`ui`: the operator's page in a browser, through a port-forward, with a token for it alone."""

import asyncio
import html
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import click

from trainingjobs.cli import options, screen

if TYPE_CHECKING:
    from trainingjobs.client.forward import Forward

_HOUR = 3_600
"""How long one may look before a new token is needed."""
_LOOK_SECONDS = 1.0
_LOOPBACK = "127.0.0.1"
_READ_SECONDS = 30.0
"""How long a browser may take to start and to read where to go."""
_GO = '<!doctype html><meta http-equiv="refresh" content="0; url={at}"><title>Jobs</title>\n'


@click.command("ui", cls=options.Command)
@click.argument("name", metavar="[JOB]", required=False)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Of this machine.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser as well.")
@options.account
@options.where
def ui_(name: str | None, *, port: int, opens: bool, account: str) -> None:
    r"""Show the operator's page: all jobs that one may see, or one of them, live.

    The address holds a token that is good for an hour and for this page alone; the page takes it
    out of the address at once. The way is a port-forward to the operator's leader: it ends with
    this command. With -n the page shows the jobs of that namespace.

    \b
    Examples:
      {program} ui
      {program} ui mnist --open
    """
    chosen = options.place().get("namespace", "")
    shown = _shown(name, port, account, chosen, opens=opens)
    screen.run(shown, "the page has no way to the operator now")


async def _shown(name: str | None, port: int, account: str, chosen: str, *, opens: bool) -> None:
    from trainingjobs.client import forward  # noqa: PLC0415  not for help
    from trainingjobs.client.leader import Operator  # noqa: PLC0415

    async with screen.connect() as client:
        at = place(chosen)
        if name is not None:
            at = place(client.namespace, (await client.get_job(name.rpartition("/")[2])).name)
        operator = Operator(client.raw, client.namespace, screen.note)
        token = await operator.token(account, _HOUR)
        try:
            async with forward.listening(client.raw, operator.target, port) as way:
                whole = address(way.port, token, at)
                screen.write([whole])
                screen.note("Open this in a browser of this machine; Ctrl-C ends it.")
                async with asyncio.TaskGroup() as tasks:
                    if opens:
                        tasks.create_task(_opened(whole))
                    tasks.create_task(_kept(way))
        except OSError as error:
            raise screen.Failure(f"port {port} of this machine cannot be had: {error}") from error


def place(namespace: str, job: str = "") -> str:
    """Which view of the page: a job, the jobs of a namespace, or all of them."""
    if job:
        return f"/job/{quote(namespace, safe='')}/{quote(job, safe='')}"
    return f"/?{urlencode({'namespace': namespace})}" if namespace else "/"


def address(port: int, token: str, at: str) -> str:
    """Where the page is; what is behind the # is sent to nobody."""
    return f"http://{_LOOPBACK}:{port}/#{urlencode({'token': token, 'at': at})}"


async def _opened(at: str) -> None:
    """Open it by a file that nobody else reads: all users see what a program is started with."""
    try:
        with tempfile.TemporaryDirectory(prefix="trainingjob-") as folder:
            file = Path(folder) / "open.html"
            file.touch(mode=0o600)
            file.write_text(_GO.format(at=html.escape(at)))
            if not await asyncio.to_thread(webbrowser.open, file.as_uri()):
                screen.note("No browser could be started.")
            await asyncio.sleep(_READ_SECONDS)
    except OSError as error:
        screen.note(f"No browser could be started: {screen.safe(error)}")


async def _kept(way: "Forward") -> None:
    """Say what is in the way, once; the page tries again by itself."""
    said = ""
    while True:
        if way.wrong is not None and str(way.wrong) != said:
            said = str(way.wrong)
            screen.note(screen.safe(said))
        await asyncio.sleep(_LOOK_SECONDS)
