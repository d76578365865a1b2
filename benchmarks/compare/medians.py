"""A file of results, read back: the middle of all runs, for each system in each scenario."""

import json
import math
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Key = tuple[str, str]
"""The scenario and the system."""


@dataclass(frozen=True, slots=True)
class Medians:
    """All that was measured."""

    about: dict[str, Any]
    figures: dict[Key, dict[str, float]]
    spans: dict[Key, dict[str, tuple[float, float]]]
    """The least and the most of each figure."""
    requests: dict[Key, dict[str, float]]
    """By verb, of all jobs of a scenario together."""
    runs: dict[Key, int]
    """How many of them there are."""
    failed: tuple[str, ...]
    codes: dict[str, set[str]] = field(default_factory=dict)
    """The scenarios that were measured of each state of our code."""

    @property
    def whole(self) -> bool:
        """Whether thousands were thousands."""
        return str(self.about.get("scale", "1")) == "1"

    def of(self, scenario: str, system: str, what: str) -> float:
        """One figure; not a number where there is none."""
        return self.figures.get((scenario, system), {}).get(what, math.nan)

    def systems(self, scenario: str) -> list[str]:
        """Those with figures."""
        return [system for name, system in self.figures if name == scenario]


def read(file: Path) -> Medians:
    """What a run has written."""
    about, *measures = map(json.loads, file.read_text().splitlines())
    figures: dict[Key, list[dict[str, float]]] = defaultdict(list)
    requests: dict[Key, list[dict[str, float]]] = defaultdict(list)
    for it in measures:
        if not it["error"]:
            key = it["scenario"], it["system"]
            figures[key].append({k: _number(v) for k, v in it["figures"].items()})
            requests[key].append(_by_verb(it["requests"]))
    return Medians(
        about=about,
        figures={key: _middle(found, math.inf) for key, found in figures.items()},
        requests={key: _middle(found, 0.0) for key, found in requests.items()},
        spans={key: _span(found) for key, found in figures.items()},
        runs={key: len(found) for key, found in figures.items()},
        codes=_codes(measures),
        failed=tuple(f"{it['scenario']}, {it['system']}" for it in measures if it["error"]),
    )


def _codes(measures: list[dict[str, Any]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for it in measures:
        if it.get("code"):
            found[it["code"]].add(it["scenario"])
    return dict(found)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _by_verb(requests: dict[str, int]) -> dict[str, float]:
    found: Counter[str] = Counter()
    for what, count in requests.items():
        found[what.split()[0]] += count
    return {verb: float(count) for verb, count in found.items()}


def _middle(runs: list[dict[str, float]], missing: float) -> dict[str, float]:
    """What a run never came to counts as the slowest, whether it says so or not."""
    return {what: statistics.median(values) for what, values in _all(runs, missing).items()}


def _span(runs: list[dict[str, float]]) -> dict[str, tuple[float, float]]:
    found = _all(runs, math.inf)
    return {what: (min(values), max(values)) for what, values in found.items()}


def _all(runs: list[dict[str, float]], missing: float) -> dict[str, list[float]]:
    names = dict.fromkeys(what for run in runs for what in run)
    found = {what: [run.get(what, missing) for run in runs] for what in names}
    return {
        what: [math.inf if math.isnan(value) else value for value in values]
        for what, values in found.items()
    }
