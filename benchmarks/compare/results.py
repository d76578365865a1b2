"""Where the figures go: one line of JSON for each system in each run of a scenario."""

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.compare import programs
from localcluster import cache, versions

_ROOT: Final = Path(__file__).parents[2]
DEFAULT: Final = _ROOT / "benchmarks" / "results" / "latest.jsonl"
_OURS: Final = ("ours", "raw")
_PEOPLE: Final = frozenset({"cli", "client", "convert"})
"""Folders of code that no measured operator runs: it serves people, who are not there."""
_SHOWN: Final = 4
_SAME: Final = ("cores", "scale", "versions")
"""What has to be as it was, for two runs to be told together."""


@dataclass(slots=True, kw_only=True)
class Measure:
    """One system in one run of a scenario."""

    scenario: str
    system: str
    run: int
    code: str = ""
    """What the figures rest on beside pinned versions: our own code, where it is ours."""
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))
    figures: dict[str, float] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    """By verb and resource, of all of its processes."""
    error: str = ""


class File:
    """The file of a run, which goes on where one was cut.

    What failed is measured again, and so is what was measured of another state of our code; until
    then it stays.

    Raises:
        ValueError: when what is there was measured with other versions or at another scale.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.failed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        own = about()
        before = (
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        )
        self._about = before[0] if before else own
        if any(self._about[it] != own[it] for it in _SAME):
            raise ValueError(f"{path} was measured with something else: move it away")
        self._lines = {_key(line): line for line in before[1:]}
        self._write()

    def has(self, scenario: str, system: str, run: int) -> bool:
        """Whether that was measured before."""
        line = self._lines.get((scenario, system, run))
        return line is not None and not line["error"] and line["code"] == code(system)

    def add(self, made: Measure) -> None:
        """Keep it."""
        self.failed |= bool(made.error)
        line = _plain(asdict(made))
        self._lines[_key(line)] = line
        self._write()

    def _write(self) -> None:
        whole = [self._about, *self._lines.values()]
        aside = self._path.with_suffix(".new")
        aside.write_text("".join(f"{json.dumps(it)}\n" for it in whole))
        aside.replace(self._path)


@contextmanager
def opened() -> Iterator[File]:
    """The file that is asked for, for one who measures alone: others wait for their turn."""
    with cache.alone(cache.folder() / "bench.lock", "measuring"):
        yield File(Path(os.environ.get("BENCH_RESULTS") or DEFAULT))


def code(system: str) -> str:
    """What tells one state of our code from another; of a peer its version tells that."""
    if system not in _OURS:
        return ""
    started = _ROOT / "benchmarks" / "compare" / "systems.py"
    files = [*_ROOT.glob("operator/**/*.py"), _ROOT / "uv.lock", started]
    ran = sorted(it for it in files if not _PEOPLE & {*it.relative_to(_ROOT).parts})
    return hashlib.sha256(b"".join(file.read_bytes() for file in ran)).hexdigest()[:12]


def _key(line: dict[str, Any]) -> tuple[str, str, int]:
    return line["scenario"], line["system"], line["run"]


def about() -> dict[str, Any]:
    """What was measured, where and when."""
    modules = (programs.JOBSET, programs.TRAINING_OPERATOR, programs.KWOK)
    return {
        "when": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "scale": os.environ.get("BENCH_SCALE") or "1",
        "load before": round(os.getloadavg()[0], 1),
        "versions": {
            "kubernetes": versions.KUBERNETES,
            "etcd": versions.ETCD,
            **{it.name: programs.version(it) for it in modules},
        },
    }


def line(measure: Measure) -> str:
    """The first figures for who waits."""
    if measure.error:
        return measure.error.splitlines()[0][:100]
    shown = list(measure.figures.items())[:_SHOWN]
    return ", ".join(f"{what} {value:.2f}" for what, value in shown)


def _plain(value: Any) -> Any:
    """Numbers that JSON has, with as many digits as mean something."""
    if isinstance(value, dict):
        return {key: _plain(it) for key, it in value.items()}
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 3)
    return value
