"""The stacks of all ranks: those that are alike are told once.

As one text, the guilty first, they outlive the pods of a group that stalled; for who asks now they
are told as they were heard last.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from trainingjobs.diagnosis import ranks as standing
from trainingjobs.diagnosis import words
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.model import ranks
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed
from trainingjobs.model.report import Frame
from trainingjobs.model.whole import Stack, Stacks

_MAX_STACKS = 64
_MAX_ASKED = 256
_MAX_TEXT = 200_000
"""Characters of them: a ConfigMap holds a megabyte, and a character takes up to four bytes."""


def stacks(group: Group, guilty: Collection[int]) -> str:
    """All ranks' stacks."""
    groups = words.gathered(group.speakers, _stack)
    groups.sort(key=lambda own: not any(speaker.number in guilty for speaker in own))
    told, length = [], 0
    for own in groups[:_MAX_STACKS]:
        text = _told(own)
        length += len(text)
        if length > _MAX_TEXT:
            break
        told.append(text)
    rest = sum(map(len, groups[len(told) :]))
    told += [f"{rest} more ranks, each at another place\n"] if rest else []
    told += [f"{_ranks(group.unheard)}: not heard of\n"] if group.unheard else []
    return "\n".join(told)


def asked(job: TrainingJob, seen: Observed, now: datetime) -> Stacks:
    """Where all ranks stand now.

    Args:
        job: what is asked for, with the status as it was last written.
        seen: its pods, and the roll of the current attempt.
        now: the time, aware of its zone.
    """
    if not seen.roll.entries:
        return Stacks(attempt=job.attempt, stacks=[], unheard=ranks.compact(range(job.size)))
    group = standing.group(job, seen, now)
    groups = words.gathered(group.speakers, _stack)
    return Stacks(
        attempt=job.attempt,
        stacks=[_asked(own) for own in groups[:_MAX_ASKED]],
        unheard=ranks.compact(group.unheard),
        more=sum(map(len, groups[_MAX_ASKED:])),
    )


def _asked(own: Sequence[Speaker]) -> Stack:
    first = own[0].report
    return Stack(
        ranks=ranks.compact(speaker.number for speaker in own),
        stage=first.stage,
        waits_in=first.waits_in,
        silent=own[0].silent,
        steps=ranks.compact({speaker.report.steps for speaker in own}),
        heard=max(speaker.entry.received for speaker in own),
        frames=first.frames,
    )


def _stack(speaker: Speaker) -> tuple[object, ...]:
    report = speaker.report
    frames = ((frame.file, frame.line, frame.function) for frame in report.frames)
    return (report.waits_in, speaker.silent, report.stage, *frames)


def _told(own: Sequence[Speaker]) -> str:
    first = own[0].report
    numbers = [speaker.number for speaker in own]
    state = first.waits_in or first.stage.value
    silent = ", silent" if own[0].silent else ""
    steps = ranks.compact({speaker.report.steps for speaker in own}).replace(",", ", ")
    count = "steps" if len({speaker.report.steps for speaker in own}) > 1 else "step"
    frames = "".join(f"  {_frame(frame)}\n" for frame in first.frames) or "  no stack\n"
    return f"{_ranks(numbers)} ({state}{silent}, {count} {steps}):\n{frames}"


def _frame(frame: Frame) -> str:
    return f"{frame.file}:{frame.line} {frame.function}"


def _ranks(numbers: Sequence[int]) -> str:
    many = "s" if len(numbers) > 1 else ""
    return f"rank{many} {ranks.compact(numbers).replace(',', ', ')}"
