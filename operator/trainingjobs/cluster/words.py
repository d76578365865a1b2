"""Other programs' words, made fit to stand on a resource.

A container's last lines come with colours, progress bars and whatever a crash left in the
buffer; on a status they must be short, printable and end with what was said last.
"""

import re

from trainingjobs.model.text import printable

MAX_CHARACTERS = 1024
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_LINE_ENDS = re.compile(r"[\r\n\x0b\x0c\x85\u2028\u2029]+")


def last_lines(text: str | None, limit: int = MAX_CHARACTERS) -> str:
    """The end of a text, from the start of a line where one fits into the limit."""
    lines = _LINE_ENDS.split(_ESCAPES.sub("", text or ""))
    clean = "\n".join(filter(None, (printable(line, "").rstrip() for line in lines)))
    if len(clean) <= limit:
        return clean
    tail = clean[-limit:]
    _, newline, whole = tail.partition("\n")
    return whole if newline and whole else tail
