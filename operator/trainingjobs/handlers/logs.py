"""Log lines for machines: one JSON object each, with the job that it is about."""

import logging
import sys

from pythonjsonlogger.json import JsonFormatter

TEXT = "text"
_CHATTER = ("kopf", "aiohttp", "asyncio")
_RENAMED = {"levelname": "level", "name": "logger", "asctime": "time"}


class TextFormatter(logging.Formatter):
    """A line for people, with the job's name before the words."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = super().format(record)
        namespace, job = (getattr(record, name, None) for name in ("namespace", "job"))
        return f"{line} [{namespace}/{job}]" if job else line


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
        handler.setFormatter(JsonFormatter(fields, rename_fields=_RENAMED))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    _quieten(level)


def _quieten(level: str) -> None:
    """Kopf tells of every event that it hands on; unless asked, only its warnings are told."""
    if level == logging.getLevelName(logging.DEBUG):
        return
    for name in _CHATTER:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
