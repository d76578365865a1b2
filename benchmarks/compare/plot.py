"""A plot as SVG: how long jobs of more and more pods take, both axes by powers of ten."""

import math
from typing import Final

from benchmarks.compare.medians import Medians

SIZES: Final = {8: "1x8", 100: "1x100", 500: "1x500", 2000: "1x2000"}
_COLOURS: Final = {
    "raw": "#777777",
    "ours": "#0b6e4f",
    "jobset": "#c1440e",
    "jobset-raised": "#e39a72",
    "training-operator": "#2a4d9b",
    "training-operator-raised": "#93a9d8",
}
_FONT: Final = 'font-family="sans-serif" font-size="12"'
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 760, 420, 60, 30, 190, 50
_DECADES: Final = (-2, 3)
"""From hundredths of a second to a quarter of an hour."""


def draw(found: Medians) -> str:
    """The whole picture."""
    lines = [_line(found, system, colour) for system, colour in _COLOURS.items()]
    legend = [
        _text(_LEFT + 12, _TOP + 16 * row, system, colour=colour)
        for row, (system, colour) in enumerate(_COLOURS.items(), 1)
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" {_FONT}>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 18, "seconds from the request until all pods are created"),
        *(_grid(power) for power in range(_DECADES[0], _DECADES[1] + 1)),
        *(_text(_x(size), _HEIGHT - _BOTTOM + 20, f"{size:,}", "middle") for size in SIZES),
        _text(_x(130), _HEIGHT - 10, "pods of one job", "middle"),
        *lines,
        *legend,
        "</svg>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _line(found: Medians, system: str, colour: str) -> str:
    times = {size: found.of(name, system, "all pods") for size, name in SIZES.items()}
    there = {size: value for size, value in times.items() if math.isfinite(value)}
    if not there:
        return ""
    points = " ".join(f"{_x(size):.1f},{_y(value):.1f}" for size, value in there.items())
    last, value = list(there.items())[-1]
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>' + _text(
        _x(last) + 8, _y(value) + 4, f"{value:.3g} s", colour=colour
    )


def _grid(power: int) -> str:
    height = _y(10.0**power)
    right = _WIDTH - _RIGHT
    rule = f'<line x1="{_LEFT}" x2="{right}" y1="{height:.1f}" y2="{height:.1f}" stroke="#ddd"/>'
    return rule + _text(_LEFT - 6, height + 4, f"{10.0**power:g}", "end")


def _x(size: int) -> float:
    first, last = math.log10(min(SIZES)), math.log10(max(SIZES))
    part = (math.log10(size) - first) / (last - first)
    return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float) -> float:
    low, high = _DECADES
    part = (math.log10(max(value, 10.0**low)) - low) / (high - low)
    return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, words: str, anchor: str = "start", *, colour: str = "#333") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} fill="{colour}">{words}</text>'
