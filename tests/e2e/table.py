"""`make examples`: the checks of the examples, run one after the other, and a table of them.

    PYTHONPATH=operator:.:tests python -m e2e.table [EXAMPLE …]

Each check is a test with the mark `example`; those that have the mark `e2e` as well are a part of
`make test`. What a test records as `checked` is the number that the table shows.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from e2e.harness import Manifest
from e2e.lessons import EXAMPLES
from localcluster import shell

HERE = Path(__file__).parent
IMAGE = re.compile(r"localhost/trainingjob-(\w+):dev")
FOLDER, CHECKED = "example", "checked"
HEAD = ("example", "instances x processes", "time", "checked", "result")
NOWHERE, NOT_RUN = "no check on this cluster: see its README", "was not come to"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one check."""

    folder: str
    seconds: float
    checked: str
    passed: bool

    def cells(self) -> tuple[str, ...]:
        """The columns of the table."""
        result = "pass" if self.passed else "FAIL"
        return self.folder, size(self.folder), f"{self.seconds:.0f} s", self.checked, result


@dataclass(slots=True)
class Table:
    """A plugin of pytest: it chooses the checks, and shows their table in the end."""

    chosen: Sequence[str]
    rows: list[Row] = field(default_factory=list)
    marked: set[str] = field(default_factory=set)
    """Examples that have a check."""

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the chosen examples' checks, in the examples' order."""
        places = {id(item): _folder(item) for item in items}
        kept = sorted(
            (item for item in items if places[id(item)] in self.chosen),
            key=lambda item: places[id(item)],
        )
        for item in kept:
            item.user_properties.append((FOLDER, places[id(item)]))
        self.marked = set(places.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take up a check that is over, or that could not even begin."""
        if report.when != "call" and report.passed:
            return
        told = dict(report.user_properties)
        checked = str(told.get(CHECKED, "")) if report.passed else _why(report)
        self.rows.append(Row(str(told[FOLDER]), report.duration, checked, report.passed))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table."""
        terminalreporter.section("examples")
        unchecked = sorted(set(self.chosen) - {row.folder for row in self.rows})
        missing = [
            (folder, size(folder), "", NOT_RUN if folder in self.marked else NOWHERE, "-")
            for folder in unchecked
        ]
        for line in columns([HEAD, *sorted([row.cells() for row in self.rows] + missing)]):
            terminalreporter.write_line(line)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def size(folder: str) -> str:
    """`3 x 1`: an example's instances and the processes of each."""
    spec = _job(folder)["spec"]
    return f"{spec['PARALLEL_INSTANCES']} x {spec.get('processesPerInstance', 1)}"


def images(folders: Sequence[str]) -> list[str]:
    """The images of this project that examples run in."""
    text = "".join((EXAMPLES / folder / "job.yaml").read_text() for folder in folders)
    return sorted(set(IMAGE.findall(text)))


def main(names: Sequence[str]) -> int:
    """Run the checks of these examples, or of all: 0 when all is well."""
    there = sorted(path.parent.name for path in EXAMPLES.glob("*/job.yaml"))
    unknown = sorted(set(names) - set(there))
    if unknown:
        print(f"no such example: {', '.join(unknown)}; there are {', '.join(there)}")  # noqa: T201
        return 2
    chosen = sorted(set(names)) or there
    load = [sys.executable, "-m", "localcluster.images", "load", *images(chosen)]
    if subprocess.run(load, cwd=shell.ROOT, check=False, stdout=subprocess.DEVNULL).returncode:
        return 1
    return int(pytest.main(["-m", "example", "-v", str(HERE)], plugins=[Table(chosen)]))


def _job(folder: str) -> Manifest:
    job: Manifest = yaml.safe_load((EXAMPLES / folder / "job.yaml").read_text())
    return job


def _folder(item: pytest.Item) -> str:
    mark = item.get_closest_marker("example")
    return str(mark.args[0]) if mark else ""


def _why(report: pytest.TestReport) -> str:
    """The last line of what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    words = crash.message if crash else str(report.longrepr)
    return words.splitlines()[0][:80] if words else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
