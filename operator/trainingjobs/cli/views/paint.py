"""Colours, where there are some: phases, and a colour for each rank."""

import re
from collections.abc import Iterable, Iterator

from click import style

_PHASES = {
    "Running": "green",
    "Succeeded": "green",
    "Failed": "red",
    "Restarting": "yellow",
    "Pending": "yellow",
    "Starting": "yellow",
    "Suspended": "blue",
}
_PHASE = re.compile(rf"(?<= )({'|'.join(_PHASES)})(?= )")
_RANKS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta")


def phases(lines: Iterable[str]) -> Iterator[str]:
    """Lines with the first phase in each coloured."""
    return (_PHASE.sub(lambda found: phase(found[0]), line, count=1) for line in lines)


def phase(name: str) -> str:
    """The name of a phase in its colour."""
    return style(name, fg=_PHASES.get(name))


def rank(text: str, number: int) -> str:
    """Text in the colour of a rank."""
    return style(text, fg=_RANKS[number % len(_RANKS)])


def heading(text: str) -> str:
    """A heading."""
    return style(text, bold=True)


def coloured(text: str, colour: str) -> str:
    """Text in a colour."""
    return style(text, fg=colour)
