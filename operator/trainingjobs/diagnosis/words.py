"""How ranks, places and times are told: the same words in every finding.

No duration is told that grows while nothing happens: a message that changes is written.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, datetime

from trainingjobs.diagnosis import places
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.said import Said
from trainingjobs.model import ranks
from trainingjobs.model.text import cut

_MAX_NUMBERS = 60
_MAX_PLACE = 90
_MAX_GROUPS = 3


def compact(numbers: Iterable[int]) -> str:
    """`0-2, 4-7`: as many as fit a sentence."""
    return cut(ranks.compact(numbers).replace(",", ", "), _MAX_NUMBERS)


def several(numbers: Sequence[int]) -> str:
    """`rank 3`, or `ranks 0-2, 4-7`."""
    return f"rank {numbers[0]}" if len(numbers) == 1 else f"ranks {compact(numbers)}"


def named(group: Group, numbers: Sequence[int]) -> str:
    """`rank 1 (mnist-worker-0 on node-a)`; of several, the first one's pod is named."""
    instances = dict.fromkeys(map(group.instance, numbers))
    first = next(iter(instances))
    pod = group.pods.get(first)
    node = f" on {pod.node}" if pod is not None and pod.node else ""
    others = f" and {len(instances) - 1} more pods" if len(instances) > 1 else ""
    return f"{several(numbers)} ({pod.name if pod else group.pod_name(numbers[0])}{node}{others})"


def at(report: Said) -> str:
    """`train.py:7 in load_data`."""
    frame = places.innermost(report)
    if frame is None:
        return "an unknown line"
    inside = "" if frame.function.startswith("<") else f" in {clip(frame.function)}"
    return f"{clip(f'{frame.file}:{frame.line}')}{inside}"


def stand(report: Said, *, many: bool = False) -> str:
    """`stands at train.py:7 in load_data`, `waits in backward at train.py:8`."""
    s = "" if many else "s"
    line = places.line(report)
    there = f" at {clip(line)}" if line else ""
    if report.waits_in:
        return f"wait{s} in {clip(report.waits_in)}{there}"
    if places.loads(report):
        return f"wait{s} for {'their data loaders' if many else places.DATA_LOADER}{there}"
    return f"stand{s} at {at(report)}"


def together(speakers: Iterable[Speaker]) -> str:
    """Ranks that stand at the same place, told once: the largest groups first."""
    groups = gathered(speakers, lambda speaker: places.place(speaker.report))
    told = [
        f"{several(_numbers(own))} {stand(own[0].report, many=len(own) > 1)}"
        for own in groups[:_MAX_GROUPS]
    ]
    rest = sum(map(len, groups[_MAX_GROUPS:]))
    return " and ".join([*told, *([f"{rest} more ranks elsewhere"] if rest else [])])


def gathered(
    speakers: Iterable[Speaker], key: Callable[[Speaker], Hashable]
) -> list[list[Speaker]]:
    """Speakers with the same key, the largest group first, then the one with the lowest rank."""
    groups: dict[Hashable, list[Speaker]] = {}
    for speaker in speakers:
        groups.setdefault(key(speaker), []).append(speaker)
    return sorted(groups.values(), key=lambda own: (-len(own), own[0].number))


def clip(text: str) -> str:
    """The text, without its beginning where it is too long."""
    return text if len(text) <= _MAX_PLACE else f"…{text[1 - _MAX_PLACE :]}"


def minute(time: datetime) -> str:
    """`12:03Z`: coarse, since reports take more or less long to arrive."""
    return time.astimezone(UTC).strftime("%H:%MZ")


def second(time: datetime) -> str:
    """`12:03:05Z`."""
    return time.astimezone(UTC).strftime("%H:%M:%SZ")


def _numbers(speakers: Sequence[Speaker]) -> list[int]:
    return [speaker.number for speaker in speakers]
