"""`doctor`: would a job run here? Looks at what it needs, and runs one where that is asked for."""

import sys
from dataclasses import asdict
from typing import Any

import click

from trainingjobs.cli import options, screen
from trainingjobs.cli.commands import reading
from trainingjobs.cli.commands.waiting import Span
from trainingjobs.cli.views import health, paint, quantities

_SIGNS = {
    "ok": ("ok", "green"),
    "bad": ("BAD", "red"),
    "unknown": ("??", "yellow"),
    "hint": ("--", "yellow"),
}


class Amount(click.ParamType[str]):
    """A quantity as Kubernetes writes it."""

    name = "quantity"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The text, where the API server would take it."""
        text = str(value)
        found = quantities.parsed(text)
        if text and (found is None or found < 0):
            self.fail(f"{text!r} is no amount: write 2, 500m or 4Gi", param, ctx)
        return text


@click.command("doctor", cls=options.Command)
@click.option(
    "--pods", "count", type=click.IntRange(1), default=3, metavar="N", help="Room for so many."
)
@click.option("--cpus", type=Amount(), default="", metavar="N", help="Of each, as 2 or 500m.")
@click.option("--memory", type=Amount(), default="", metavar="SIZE", help="Of each, as 4Gi.")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="Of each.")
@click.option(
    "--image", default="", metavar="IMAGE", help="Is it on nodes already? Of --try's pods."
)
@click.option("--try", "tries", is_flag=True, help="Run a job of short pods, and take it away.")
@click.option("--user", type=click.IntRange(1), metavar="UID", help="Of the pods of --try.")
@click.option(
    "--timeout", type=Span(), default="5m", metavar="TIME", help="For --try; 5m if not said."
)
@options.output("json", "yaml")
@options.where
def doctor_(count: int, form: str | None, **needs: Any) -> None:
    r"""Look whether a job would run here: operator, rights, quota, room, DNS.

    The exit code is 1 where something is not well. Nothing is changed and no pod is run, unless
    --try asks for it: then a job of so many pods pulls the image, its workers find their master
    by name, and it is deleted.

    \b
    Examples:
      {program} doctor
      {program} doctor --pods 8 --gpus 1 -n lab
      {program} doctor --try --image pytorch/pytorch --user 1000
    """
    image = reading.image(needs["image"]) if needs["tries"] else needs["image"]
    found = list[health.Check]()
    for look in (_looked, _tried)[: 1 + needs["tries"]]:
        seen = screen.run(look(count, image, needs))
        found += seen
        if not form:
            screen.write(map(_line, seen))
    well = all(check.verdict != "bad" for check in found)
    if form:
        screen.document({"well": well, "checks": [asdict(check) for check in found]}, form)
    sys.exit(0 if well else 1)


async def _looked(count: int, image: str, needs: dict[str, Any]) -> list[health.Check]:
    from trainingjobs.cli.commands import facts  # noqa: PLC0415  not for help

    gpus = str(needs["gpus"])
    each = {"cpu": needs["cpus"], "memory": needs["memory"], "nvidia.com/gpu": gpus}
    asked = {name: text for name, text in each.items() if text and text != "0"}
    return await facts.looked(count, asked, image)


async def _tried(count: int, image: str, needs: dict[str, Any]) -> list[health.Check]:
    from trainingjobs.cli.commands import trying  # noqa: PLC0415  not for help

    own = {name: needs[name] for name in ("cpus", "memory", "gpus", "user")}
    script = trying.meeting_of(image, count, own)
    return [await trying.tried(script, needs["timeout"], options.program())]


def _line(check: health.Check) -> str:
    sign, colour = _SIGNS[check.verdict]
    line = f"{check.about:<9} {screen.safe(check.words)}"
    advice = f": {screen.safe(check.advice)}" if check.advice else ""
    return f"{paint.coloured(f'{sign:<3}', colour)} {line}{advice}"
