"""Text for people on the resource: one line, bounded, whatever it is made from."""

from trainingjobs.model.status import MAX_MESSAGE


def cut(text: str, limit: int = MAX_MESSAGE) -> str:
    """The text in one line, shortened where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
