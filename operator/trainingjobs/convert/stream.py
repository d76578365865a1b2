"""Texts of manifests in, one text of manifests out, and what there is to say of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainingjobs.convert import core, documents, trainjob
from trainingjobs.convert.core import Converted, Other, Refused
from trainingjobs.convert.documents import MAX_CHARACTERS, Document
from trainingjobs.convert.source import NotConvertible

__all__ = ["MAX_CHARACTERS", "Done", "convert"]


@dataclass(frozen=True, slots=True)
class Done:
    """What goes to the standard output and to the standard error."""

    manifests: str
    words: tuple[str, ...]
    refused: bool
    """True when a document could not be converted."""


def convert(texts: Sequence[tuple[str, str]]) -> Done:
    """All documents of all texts, in their order.

    Args:
        texts: a name for messages, and the text.
    """
    words: list[str] = []
    found: list[Document] = []
    for name, text in texts:
        try:
            found += documents.read(text)
        except NotConvertible as error:
            words.append(f"{name}: {error}")
    runtimes = {
        trainjob.key(kind, document.value["metadata"]): document.value
        for document in found
        if (kind := _runtime(document))
    }
    refused = bool(words)
    parts: list[str] = []
    for document in found:
        result = core.convert(document.value, runtimes)
        if document.twice and not isinstance(result, Other):
            result = Refused(document.twice)
        words += _said(document, result)
        refused |= isinstance(result, Refused)
        parts += _written(document, result)
    return Done("---\n".join(parts), tuple(words), refused)


def _runtime(document: Document) -> str:
    """The kind of a runtime of Kubeflow's; empty for all else."""
    _, kind = core.identity(document.value)
    there = kind in trainjob.RUNTIMES and isinstance(document.value.get("metadata"), dict)
    return kind if there else ""


def _said(document: Document, result: core.Result) -> Iterable[str]:
    _, kind = core.identity(document.value)
    metadata = document.value.get("metadata") if isinstance(document.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    who = f"{kind or 'document'}/{name or '?'}"
    match result:
        case Converted(_, notes):
            return [f"{who}: {note}" for note in notes]
        case Refused(why):
            return [f"{who}: not converted: {why}"]
        case Other():
            return [] if kind else [f"{who}: passed on as it is: it has no kind"]


def _written(document: Document, result: core.Result) -> list[str]:
    match result:
        case Converted(manifest, _):
            return [documents.write(manifest)]
        case Refused():
            return []
        case Other():
            return [document.text]
