"""The tables of docs/performance.md, and its plot, from a file of results.

    python -m benchmarks.compare.page [--write] [FILE]

The page's own words stay as they are: what is between its two marks is written anew.
"""

import argparse
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.compare import plot
from benchmarks.compare.medians import Medians, read
from benchmarks.compare.results import DEFAULT
from benchmarks.compare.scenarios import SCENARIOS
from benchmarks.compare.systems import BY_NAME
from benchmarks.compare.targets import TARGETS

DOCS: Final = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_LARGE: Final = 100
_SEVERAL: Final = 2


def render(found: Medians) -> str:
    """All that is written by this program."""
    parts = [_about(found), *_targets(found), *_created(found)]
    for name in SCENARIOS:
        if found.systems(name):
            parts += _scenario(found, name)
    return "\n".join(parts)


def _about(found: Medians) -> str:
    about = found.about
    versions = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    words = (
        f"Medians; the number of runs is behind each system. Begun on {about['when']}, "
        f"{about['cores']} cores shared by all processes, Python {about['python']}, {versions}."
    )
    if not found.whole:
        words += f" A quick look: thousands of jobs or pods were {about['scale']} of that."
    if len(found.codes) > 1:
        states = (f"`{code}`: {', '.join(sorted(it))}" for code, it in found.codes.items())
        words += f" Our own code was measured in several states: {'; '.join(states)}."
    failed = f" Failed runs: {'; '.join(found.failed)}." if found.failed else ""
    return f"{words}{failed}\n"


def _targets(found: Medians) -> Iterator[str]:
    yield "### Targets\n"
    yield "| what | target | measured | met |\n|---|---|---|---|"
    yield from (target.row(found) for target in TARGETS)
    yield ""


def _created(found: Medians) -> Iterator[str]:
    yield "### From the request until all pods are created\n"
    yield "![seconds by number of pods](performance.svg)\n"
    yield f"| seconds | {' | '.join(BY_NAME)} | ours : raw | best peer : ours |"
    yield "|---|" + "--:|" * (len(BY_NAME) + 2)
    for name in SCENARIOS:
        times = {system: found.of(name, system, "all pods") for system in BY_NAME}
        if not any(map(math.isfinite, times.values())):
            continue
        peers = [value for it, value in times.items() if it not in {"raw", "ours"}]
        best = min((it for it in peers if math.isfinite(it)), default=math.nan)
        ratios = times["ours"] / times["raw"], best / times["ours"]
        cells = [*(_spanned(found, name, it) for it in BY_NAME), *map(_cell, ratios)]
        yield f"| {SCENARIOS[name].what} | {' | '.join(cells)} |"
    yield ""


def _scenario(found: Medians, name: str) -> Iterator[str]:
    systems = [it for it in BY_NAME if it in found.systems(name)]
    yield f"### {SCENARIOS[name].what} (`{name}`)\n"
    yield f"| | {' | '.join(f'{it} ({found.runs[name, it]})' for it in systems)} |"
    yield "|---|" + "--:|" * len(systems)
    for what in dict.fromkeys(it for system in systems for it in found.figures[name, system]):
        cells = [_cell(found.of(name, system, what)) for system in systems]
        yield f"| {_unit(what)} | {' | '.join(cells)} |"
    for verb in sorted({it for system in systems for it in found.requests[name, system]}):
        counts = [found.requests[name, system].get(verb, 0.0) for system in systems]
        yield f"| requests: {verb} | {' | '.join(f'{it:,.0f}' for it in counts)} |"
    yield ""


def _spanned(found: Medians, name: str, system: str) -> str:
    """The middle, and between what it lies."""
    value = _cell(found.of(name, system, "all pods"))
    if found.runs.get((name, system), 0) < _SEVERAL:
        return value
    least, most = found.spans[name, system]["all pods"]
    return f"{value} ({_cell(least)} to {_cell(most)})"


def _unit(what: str) -> str:
    if what.startswith(("memory", "peak")):
        return f"{what}, MiB"
    if what.endswith("cpu"):
        return f"{what}, seconds"
    return what


def _cell(value: float) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.2f}"


def write(text: str, page: Path) -> None:
    """Put the tables between the page's marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = Path(os.environ.get("BENCH_RESULTS") or DEFAULT)
    parser.add_argument("file", type=Path, nargs="?", default=usual)
    parser.add_argument("--write", action="store_true", help="into the page, with its plot")
    chosen = parser.parse_args()
    found = read(chosen.file)
    if chosen.write:
        write(render(found), DOCS / "performance.md")
        (DOCS / "performance.svg").write_text(plot.draw(found))
    else:
        print(render(found))


if __name__ == "__main__":
    main()
