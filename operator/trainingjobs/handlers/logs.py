"""Log lines for machines: one JSON object each, with the job that it is about."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from trainingjobs.model.text import printable

TEXT = "text"
_CHATTER = ("kopf", "aiohttp", "asyncio")
_RENAMED = {"levelname": "level", "name": "logger", "asctime": "time"}


class TextFormatter(logging.Formatter):
    """A line for people, with the job's name behind the words.

    Some of the words are other people's: they end no line and move no cursor. JSON needs no such
    care, it writes what is not ASCII as numbers.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = super().format(record)
        namespace, job = (getattr(record, name, None) for name in ("namespace", "job"))
        return f"{line} [{namespace}/{job}]" if job else line

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """What is said, in one line."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's own name
        """Where it went wrong, set in: an error's own lines look like none of the log's."""
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {printable(line)}" for line in lines)


class JsonLines(JsonFormatter):
    """A line for machines, with its time as RFC 3339 writes it, in UTC."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own name
        """The time of the record."""
        time = datetime.fromtimestamp(record.created, UTC)
        return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def set_up(level: str, form: str) -> None:
    """Log to the standard error from this level on.

    Raises:
        ValueError: when there is no such level.
    """
    handler = logging.StreamHandler(sys.stderr)
    if form == TEXT:
        handler.setFormatter(TextFormatter("%(asctime)s %(levelname)-7s %(message)s"))
    else:
        fields = "%(asctime)s %(levelname)s %(name)s %(message)s"
        handler.setFormatter(JsonLines(fields, rename_fields=_RENAMED))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    _quieten(level)


def _quieten(level: str) -> None:
    """Kopf tells of every event that it hands on; unless asked, only its warnings are told."""
    if level == logging.getLevelName(logging.DEBUG):
        return
    for name in _CHATTER:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
