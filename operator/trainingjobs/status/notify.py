"""What people outside of the cluster are told of a job: which moments, and in which words."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from trainingjobs.model.finding import Kind
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.spec import Moment, NotifyFormat
from trainingjobs.model.status import Attempt, Phase, Status
from trainingjobs.model.text import cut
from trainingjobs.status import conditions

_LATE = timedelta(hours=1)
"""What happened longer ago is no news: a job that was over when it was asked for."""
_BREAK = "\u200b"
_OBEYED = re.compile(
    r"(?<=@)|(?<=\])(?=\()|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=~)(?=\w)", re.IGNORECASE
)
"""Where a sign that is not seen keeps a chat from obeying: in a mention, a link, a channel."""


def due(job: TrainingJob, now: datetime) -> tuple[str, ...]:
    """The moments that are to be told now, as the status remembers them once they were.

    A finish is one for the whole job, a stall one for each attempt, also of an attempt that it
    ended at once. A stall that ended the job is told by the finish, where that is asked for.
    """
    asked = job.spec.notify
    if asked is None:
        return ()
    status = job.status
    found = []
    if Moment.FINISHED in asked.when and _finished(status, now):
        found.append(Moment.FINISHED.value)
    elif Moment.STALLED in asked.when:
        found += [_stall(attempt) for attempt in _stalls(job, now)]
    return tuple(moment for moment in found if moment not in status.notified)


def told(status: Status, moments: Iterable[str]) -> Status:
    """The status that remembers them; of stalls those of this attempt and of the one before."""
    attempts = [max(status.attempt, 1), *(it.attempt for it in status.attempts[-1:])]
    kept = {Moment.FINISHED.value, *map(_stall, attempts)}
    known = sorted({*status.notified, *moments} & kept)
    return status if known == status.notified else status.model_copy(update={"notified": known})


def body(job: TrainingJob, moment: str) -> dict[str, Any]:
    """The message."""
    assert job.spec.notify is not None  # noqa: S101  nobody is told otherwise
    if job.spec.notify.format is NotifyFormat.SLACK:
        return {"text": _slack(f"{job.namespace}/{job.name} {_words(job, moment)}")}
    return {
        "version": 1,
        "event": moment.partition("-")[0],
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
        "attempt": _attempt(job, moment),
        "phase": job.status.phase.value if job.status.phase else "",
        "message": cut(_message(job, moment)),
    }


def _finished(status: Status, now: datetime) -> bool:
    ended = status.completion_time
    return status.finished and ended is not None and now - ended < _LATE


def _stall(attempt: int) -> str:
    return f"{Moment.STALLED.value}-{attempt}"


def _attempt(job: TrainingJob, moment: str) -> int:
    number = moment.partition("-")[2]
    return int(number) if number else job.attempt


def _stalls(job: TrainingJob, now: datetime) -> Iterator[int]:
    """The attempts: the last that is over, and the one that runs."""
    for ended in job.status.attempts[-1:]:
        if _stood(ended) and now - ended.end_time < _LATE:
            yield ended.attempt
    holds = conditions.holds(job.status.conditions, conditions.STALLED)
    if holds and not job.status.finished:
        yield job.attempt


def _stood(ended: Attempt) -> bool:
    """True where it was ended because it stalled; the end of the whole job has another reason."""
    return ended.failure is not None and ended.failure.reason == Kind.STALLED


def _words(job: TrainingJob, moment: str) -> str:
    done = "has succeeded" if job.status.phase is Phase.SUCCEEDED else "has failed"
    what = done if moment == Moment.FINISHED.value else "has stalled"
    return cut(f"{what}: {_message(job, moment)}")


def _message(job: TrainingJob, moment: str) -> str:
    if moment == Moment.FINISHED.value:
        return job.status.message
    number = _attempt(job, moment)
    for ended in job.status.attempts[-1:]:
        if ended.failure is not None and ended.attempt == number:
            return ended.failure.message
    fact = conditions.of(job.status.conditions, conditions.STALLED)
    return job.status.message if fact is None else fact.message


def _slack(text: str) -> str:
    """The text as a chat shows it, with nothing that it would obey: a mention, a link."""
    text = _OBEYED.sub(_BREAK, text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
