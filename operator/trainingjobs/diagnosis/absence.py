"""Why a rank has not joined: the words of the scheduler, of the kubelet, or of its own stack."""

from collections.abc import Sequence

from trainingjobs.diagnosis import places, words
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.stages import trains
from trainingjobs.model.observed import PodSeen
from trainingjobs.model.text import cut

_MAX_REASONS = 3
_MAX_WORDS = 240


def reasons(group: Group, absent: Sequence[int]) -> str:
    """Why each is missing; those with the same reason together, the lowest ranks first."""
    alike: dict[str, list[int]] = {}
    for number in absent:
        alike.setdefault(_reason(group, number), []).append(number)
    told = [
        f"{words.named(group, numbers)}{' each' if len(numbers) > 1 else ''} {why}"
        for why, numbers in list(alike.items())[:_MAX_REASONS]
    ]
    rest = sum(map(len, list(alike.values())[_MAX_REASONS:]))
    return "; ".join([*told, *([f"{rest} more ranks"] if rest else [])])


def own_line(speaker: Speaker) -> str | None:
    """The line that it stands at, unless it is gone."""
    return None if speaker.gone else places.line(speaker.report)


def _reason(group: Group, number: int) -> str:
    pod = group.pods.get(group.instance(number))
    if pod is None:
        return "has no pod"
    return _blocked(pod) or _running(group.by_number.get(number))


def _blocked(pod: PodSeen) -> str | None:
    """Why its pod does not run, if it does not."""
    if pod.terminating:
        return "is being deleted"
    if pod.ended:
        code = "" if pod.exit is None else f" with code {pod.exit.code}"
        return f"ended{code} and had not joined"
    if pod.unschedulable is not None:
        return cut(f"cannot be scheduled: {pod.unschedulable}", _MAX_WORDS)
    if pod.waiting is not None:
        said = f": {pod.waiting.message}" if pod.waiting.message else ""
        return cut(f"waits, {pod.waiting.reason}{said}", _MAX_WORDS)
    if not pod.running:
        return "is starting" if pod.scheduled else "has no node yet"
    return None


def _running(speaker: Speaker | None) -> str:
    """What its process does instead of joining."""
    if speaker is None:
        return "runs and is not heard of: it has not imported torch, or its reports do not arrive"
    report = speaker.report
    if speaker.gone:
        return "ended and had not joined"
    if speaker.silent:
        return f"is silent since {words.second(speaker.entry.received)}, last at {words.at(report)}"
    if trains(report):
        return f"trains without a process group at {words.at(report)}"
    return words.stand(report) if report.frames else "runs and has not called init_process_group"
