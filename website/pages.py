"""The generated pages, and the generated parts of pages that people write the rest of."""

from pathlib import Path

from website import commands, fields, metrics, reasons, variables

DOCS = Path("docs")
_FIELDS = DOCS / "fields.md"
_STATUS = DOCS / "status.md"
_COMMANDS = DOCS / "commands.md"
_ENVIRONMENT = DOCS / "environment.md"
_INSTALL = DOCS / "install.md"
_METRICS = DOCS / "metrics.md"
_STATES = DOCS / "states.md"
_MESSAGES = DOCS / "messages.md"
_CHART = Path("charts/trainingjob-operator/README.md")
_BEGIN, _END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def contents(root: Path) -> dict[Path, str]:
    """What each page should hold; of a page with two marks, what is between them is ours."""
    return {
        _FIELDS: fields.of_spec(),
        _STATUS: fields.of_status(),
        _COMMANDS: commands.page(),
        **_parts(root),
    }


def _parts(root: Path) -> dict[Path, str]:
    """Pages of which a part is ours."""
    values = _text(root / _CHART).partition("\n## Values\n\n")[2]
    parts = {
        _ENVIRONMENT: variables.table(),
        _INSTALL: values,
        _METRICS: metrics.tables(),
        _STATES: reasons.tables(root, _text(root / _MESSAGES)),
    }
    return {path: between(_text(root / path), part) for path, part in parts.items()}


def write_all(root: Path) -> None:
    """Write all pages under the repository's root."""
    for path, text in contents(root).items():
        (root / path).write_text(text, encoding="utf-8")


def outdated(root: Path) -> tuple[Path, ...]:
    """The pages that differ from what the code says."""
    wanted = contents(root).items()
    return tuple(path for path, text in wanted if _text(root / path) != text)


def between(page: str, part: str) -> str:
    """The page with this part between its marks."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{part}{_END}{after}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
