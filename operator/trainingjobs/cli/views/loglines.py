"""One line of one rank, as it is shown: data for programs, harmless for terminals."""

import re
from dataclasses import dataclass

from trainingjobs.cli.views import paint
from trainingjobs.client.lines import LogLine

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How lines are shown."""

    width: int = 0
    """Digits of the rank before each line; 0 for no rank."""
    timestamps: bool = False
    terminal: bool = False
    coloured: bool = False

    def line(self, line: LogLine) -> str:
        """The line; for programs its text is as the rank wrote it."""
        text = self._harmless(line.text) if self.terminal else line.text
        stamp = f"{line.time} " if self.timestamps else ""
        return f"{self._rank(line.rank)}{stamp}{text}"

    def _rank(self, number: int) -> str:
        if not self.width:
            return ""
        text = f"[{number:>{self.width}}]"
        return f"{paint.rank(text, number) if self.coloured else text} "

    def _harmless(self, text: str) -> str:
        """Of a progress bar what would be seen of it in the end; of codes the colours alone."""
        seen = next((part for part in reversed(text.split("\r")) if part), "")
        parts = _COLOUR.split(seen)
        kept = [
            part if number % 2 and self.coloured else _visible(part) if not number % 2 else ""
            for number, part in enumerate(parts)
        ]
        return "".join(kept) + (_RESET if self.coloured and len(parts) > 1 else "")


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode()
        for char in text
    )
