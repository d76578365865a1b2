"""`ui`: the operator's page in a browser, through a port-forward, with a token for it alone."""

import asyncio
import webbrowser
from urllib.parse import quote, urlencode

import click

from trainingjobs.cli import options, screen
from trainingjobs.client import forward
from trainingjobs.client.forward import Forward
from trainingjobs.client.leader import Operator

_HOUR = 3_600
"""How long one may look before a new token is needed."""
_LOOK_SECONDS = 1.0


@click.command("ui", cls=options.Command)
@click.argument("name", metavar="[JOB]", required=False)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Of this machine.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser as well.")
@options.account
@options.where
def ui_(name: str | None, *, port: int, opens: bool, account: str) -> None:
    r"""Show the operator's page: all jobs that one may see, or one of them, live.

    The address holds a token that is good for an hour and for this page alone; the browser takes it
    out of the address at once. The way is a port-forward to the operator's leader: it ends with
    this command.

    \b
    Examples:
      {program} ui
      {program} ui mnist --open
    """
    screen.run(_shown(name, port, account, opens=opens), "the page has no way to the operator now")


async def _shown(name: str | None, port: int, account: str, *, opens: bool) -> None:
    async with screen.connect() as client:
        job = None if name is None else (await client.get_job(name.rpartition("/")[2])).name
        operator = Operator(client.raw, client.namespace)
        token = await operator.token(account, _HOUR)
        try:
            async with forward.listening(client.raw, operator.target, port) as way:
                at = address(way.port, token, client.namespace, job)
                screen.write([at])
                screen.note("Open this in a browser of this machine; Ctrl-C ends it.")
                if opens:
                    await asyncio.to_thread(webbrowser.open, at)
                await _kept(way)
        except OSError as error:
            raise screen.Failure(f"port {port} of this machine cannot be had: {error}") from error


def address(port: int, token: str, namespace: str, job: str | None) -> str:
    """Where the page is; what is behind the # is sent to nobody."""
    place = "/" if job is None else f"/job/{quote(namespace, safe='')}/{quote(job, safe='')}"
    return f"http://{forward.LOOPBACK}:{port}/#{urlencode({'token': token, 'at': place})}"


async def _kept(way: Forward) -> None:
    """Say what is in the way, once; the page tries again by itself."""
    said = ""
    while True:
        if way.wrong is not None and str(way.wrong) != said:
            said = str(way.wrong)
            screen.note(screen.safe(said))
        await asyncio.sleep(_LOOK_SECONDS)
