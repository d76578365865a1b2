"""A document that is read so that nothing of it gets lost in silence.

Whoever reads a field takes it; what nobody has taken at the end becomes a note. So a field
that a newer version of another operator has is told as well as one that was forgotten here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainingjobs.model.spec import Manifest

UNKNOWN = "the conversion does not know this field"
BY_HAND = "see whether the job needs it, and write it by hand"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that was not carried over as it was."""

    path: str
    why: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}; {self.instead}"


class NotConvertible(Exception):  # noqa: N818  it is a verdict on a document, no fault
    """A document of which no TrainingJob can be made; its text says which field and why."""


class Source:
    """A mapping in a document, with its path."""

    def __init__(self, value: Any, path: str, notes: list[Note]) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise NotConvertible(f"{path}: must be a mapping")
        self.path = path
        self.notes = notes
        self._fields: dict[str, Any] = dict(value or {})

    def at(self, name: str) -> str:
        """The path of a field."""
        return ".".join(part for part in (self.path, name) if part)

    def note(self, name: str, why: str, instead: str = BY_HAND) -> None:
        """Tell of a field."""
        self.notes.append(Note(self.at(name), why, instead))

    def refusal(self, name: str, why: str) -> NotConvertible:
        """What to raise where a field makes the conversion impossible."""
        return NotConvertible(f"{self.at(name)}: {why}")

    def names(self) -> tuple[str, ...]:
        """Fields that nobody has taken yet."""
        return tuple(self._fields)

    def look(self, name: str) -> Any:
        """A field that somebody else takes; None where it is absent."""
        return self._fields.get(name)

    def peek(self, name: str, field: str) -> Any:
        """A field of a mapping that somebody else takes; None where it is absent."""
        found = self.look(name)
        return found.get(field) if isinstance(found, Mapping) else None

    def take(self, name: str) -> Any:
        """The field's value as it is, None where it is absent."""
        return self._fields.pop(name, None)

    def child(self, name: str) -> "Source":
        """A mapping; an empty one where it is absent."""
        return Source(self.take(name), self.at(name), self.notes)

    def children(self, name: str) -> list["Source"]:
        """A list of mappings; an empty one where it is absent."""
        found = self.take(name)
        if not isinstance(found, list | None):
            raise self.refusal(name, "must be a list")
        return [
            Source(item, f"{self.at(name)}[{number}]", self.notes)
            for number, item in enumerate(found or [])
        ]

    def text(self, name: str) -> str | None:
        """A text; None where it is absent or empty."""
        found = self.take(name)
        if not isinstance(found, str | None):
            raise self.refusal(name, "must be text")
        return found or None

    def flag(self, name: str) -> bool:
        """True or false; false where it is absent."""
        found = self.take(name)
        if not isinstance(found, bool | None):
            raise self.refusal(name, "must be true or false")
        return bool(found)

    def number(self, name: str, least: int = 0, most: int = 2**31 - 1) -> int | None:
        """A number; None where it is absent."""
        found = self.take(name)
        if found is None:
            return None
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
            raise self.refusal(name, f"must be a number from {least} to {most}")
        return found

    def texts(self, name: str) -> dict[str, str]:
        """Labels or annotations."""
        found = self.child(name).rest()
        if not all(isinstance(value, str) for value in found.values()):
            raise self.refusal(name, "all its values must be text")
        return found

    def told(self, reasons: Mapping[str, tuple[str, str]]) -> None:
        """Take fields that have no place in a TrainingJob, and tell of those that are set."""
        for name, (why, instead) in reasons.items():
            if _says(self.take(name)):
                self.note(name, why, instead)

    def rest(self) -> Manifest:
        """All that nobody has taken, as it is."""
        found, self._fields = self._fields, {}
        return found

    def close(self) -> None:
        """Tell of all that nobody has taken."""
        for name, value in self.rest().items():
            if _says(value):
                self.note(name, UNKNOWN)


def _says(value: Any) -> bool:
    """False for what says the same as a field that is absent."""
    return value is not None and value is not False and value not in ({}, [], "")
