"""Text for people on the resource: one line, bounded, whatever it is made from."""

MAX_MESSAGE = 1024


def printable(text: str, instead: str = "�") -> str:
    """The text without what moves a cursor, turns the direction of writing or is not seen.

    It may end up in a terminal, in a line of a log or before a model that reads. What is a kind
    of space is one; what is none and has no sign of its own is shown as `instead`.
    """
    if text.isprintable():  # nearly always
        return text
    return "".join(it if it.isprintable() else " " if it.isspace() else instead for it in text)


def cut(text: str, limit: int = MAX_MESSAGE) -> str:
    """The text in one line, shortened where it is too long."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
