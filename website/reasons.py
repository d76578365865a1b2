"""The words that the operator says as reasons, found in its code, and where each is explained.

They are the texts of the code that look like a reason: two words or more in one, each with a
capital. What looks so and is none is listed here, so a new reason cannot be forgotten.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from trainingjobs.model.finding import Kind
from trainingjobs.model.observed import Trouble
from trainingjobs.model.status import Phase
from trainingjobs.plan import hints

_CODE = Path("operator/trainingjobs")
_FOLDERS = ("plan", "status", "diagnosis", "cluster", "reconcile.py", "model/observed.py")
_WORD = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z")
_NO_REASONS = {
    *("ConfigMap", "TokenReview", "SubjectAccessReview", "PodScheduled", "DisruptionTarget"),  # API
    *("ContainerCreating", "PodInitializing", "RestartAllContainers", "AlreadyExists", "NotIn"),
    *("OnFailure", "ErrImagePull", "ImagePullBackOff"),  # said as ImagePullFailed
    *("FallbackToLogsOnError", "ClusterFirstWithHostNet", "PipelineStage"),
    *("OutOf", "ValidatingAdmissionPolicy"),
}
_MORE = {"MasterLeft", "UnevenInputs"}
_SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)
_HEADING = re.compile(r"^### ([A-Z].+)$", re.MULTILINE)


def all_of(root: Path) -> list[str]:
    """Every reason that the code of this checkout has."""
    found = {text for text in _texts(root / _CODE) if _WORD.match(text)} - _NO_REASONS
    return sorted(found | {*Kind, *Trouble, *Phase} | {it.name for it in hints.HINTS} | _MORE)


def tables(root: Path, messages: str) -> str:
    """Each reason with its place in that page, and what is said of last lines that are known."""
    return (
        "| what it is about | reasons |\n|---|---|\n"
        + "".join(_sections({*all_of(root), *_texts(root / _CODE)}, messages))
        + "\n### What known last lines lead to\n\n| name | what the message says |\n|---|---|\n"
        + "".join(f"| {it.name} | {it.words} |\n" for it in hints.HINTS)
    )


def _sections(said: set[str], messages: str) -> Iterator[str]:
    """Words of the page's headings that the code says, section by section, each once."""
    _, *parts = _SECTION.split(messages)
    left = set(said)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        links = [
            f"[{word}](messages.md#{_anchor(heading)})"
            for heading in _HEADING.findall(body)
            for word in dict.fromkeys(re.findall(r"\w+", heading))
            if word[0].isupper() and word in left
        ]
        left -= set(re.findall(r"\w+", " ".join(_HEADING.findall(body))))
        if links:
            yield f"| {title} | {', '.join(links)} |\n"


def _anchor(heading: str) -> str:
    """As the site's builder makes it of a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def _texts(code: Path) -> Iterator[str]:
    """All texts in the code that decides and tells."""
    for folder in _FOLDERS:
        place = code / folder
        for path in [place] if place.is_file() else sorted(place.glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
