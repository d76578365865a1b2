"""The commands of the documentation: fenced shell blocks, and code in a line that is a command."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "localcluster/README.md")),
        ROOT / "charts/trainingjob-operator/README.md",
        ROOT / "images/README.md",
    ]
)
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    (?!-)[^\n]+\n)+", re.MULTILINE)
_INLINE = re.compile(r"`((?:kubectl|trainingjob|make|helm) [^`]+)`")
_SHELL = {"sh", "bash", "shell", "console"}
_PROMPT = "$ "
_ENDS = {"|", "&&", "||", ";", "&"}
_INNER = re.compile(r"[$<]\(([^()]+)\)")
_SETTING = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True, order=True)
class Command:
    """One program with its arguments, and the page that tells of it."""

    page: str
    words: tuple[str, ...]
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As it is written."""
        return shlex.join((*self.settings, *self.words))


def commands(page: Path) -> Iterator[Command]:
    """All of a page, in their order."""
    where = str(page.relative_to(ROOT))
    for line in shown(page):
        yield from parsed(where, line)


def shown(page: Path) -> Iterator[str]:
    """The lines of its shell blocks, with what is said behind them."""
    for language, body in blocks(page.read_text(encoding="utf-8")):
        if language in _SHELL:
            yield from lines(body, prompted=language == "console")


def inline(page: Path) -> Iterator[Command]:
    """Code in a sentence that is a whole command; not where it is cut short by dots or marks."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    where = str(page.relative_to(ROOT))
    for found in _INLINE.findall(text):
        said = " ".join(found.split())
        if not re.search(r"[…<>]|\.\.\.", said):
            yield from parsed(where, said)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and text of each fenced block, and what is indented like a shell's lines."""
    for indent, language, body in _FENCE.findall(text):
        yield language, re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
    for body in _INDENTED.findall(_FENCE.sub("", text)):
        if re.match(r" {4}(make|kubectl|docker|\.venv|KIND_\w+=)", body):
            yield "sh", body


def lines(body: str, *, prompted: bool) -> Iterator[str]:
    """Logical lines: those that end with a backslash go on, and so do open quotes."""
    waiting = ""
    for line in body.splitlines():
        if not waiting and prompted:
            if not line.startswith(_PROMPT):
                continue
            line = line.removeprefix(_PROMPT)  # noqa: PLW2901
        waiting += line.strip()
        if waiting.endswith("\\"):
            waiting = waiting.removesuffix("\\")
            continue
        if waiting and _whole(waiting):
            yield waiting
            waiting = ""
    assert not waiting, f"an unfinished line: {waiting}"


def _whole(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


def parsed(page: str, line: str) -> Iterator[Command]:
    """The commands of a line: those of a pipe, of a list, and those in `$(…)` and `<(…)`."""
    for inner in _INNER.findall(line):
        yield from parsed(page, inner)
    lexer = shlex.shlex(_INNER.sub("VALUE", line), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _ENDS:
            words.append(word)
        elif words:
            yield _command(page, words)
            words = []


def _command(page: str, words: list[str]) -> Command:
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and word not in {"<", ">", ">>"}:
            kept.append(word)
        skip = word in {"<", ">", ">>"}
    first = next((i for i, word in enumerate(kept) if not _SETTING.match(word)), len(kept))
    return Command(page, tuple(kept[first:]), tuple(kept[:first]))
