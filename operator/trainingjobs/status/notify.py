"""What people outside of the cluster are told of a job: which moments, and in which words."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from trainingjobs.model.job import TrainingJob
from trainingjobs.model.spec import Moment, NotifyFormat
from trainingjobs.model.status import Phase, Status
from trainingjobs.model.text import cut
from trainingjobs.status import conditions

_LATE = timedelta(hours=1)
"""What happened longer ago is no news: a job that was over when it was asked for."""


def due(job: TrainingJob, now: datetime) -> tuple[str, ...]:
    """The moments that are to be told now, as the status remembers them once they were.

    A finish is one for the whole job, a stall one for each attempt.
    """
    asked = job.spec.notify
    if asked is None:
        return ()
    status = job.status
    found = []
    if Moment.FINISHED in asked.when and _finished(status, now):
        found.append(Moment.FINISHED.value)
    if Moment.STALLED in asked.when and _stalls(status):
        found.append(f"{Moment.STALLED.value}-{job.attempt}")
    return tuple(moment for moment in found if moment not in status.notified)


def told(status: Status, moments: Iterable[str]) -> Status:
    """The status that remembers them; of stalls those of this attempt alone."""
    kept = {Moment.FINISHED.value, f"{Moment.STALLED.value}-{max(status.attempt, 1)}"}
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
        "attempt": job.attempt,
        "phase": job.status.phase.value if job.status.phase else "",
        "message": cut(_message(job, moment)),
    }


def _finished(status: Status, now: datetime) -> bool:
    ended = status.completion_time
    return status.finished and ended is not None and now - ended < _LATE


def _stalls(status: Status) -> bool:
    return not status.finished and conditions.holds(status.conditions, conditions.STALLED)


def _words(job: TrainingJob, moment: str) -> str:
    done = "has succeeded" if job.status.phase is Phase.SUCCEEDED else "has failed"
    what = done if moment == Moment.FINISHED.value else "has stalled"
    return cut(f"{what}: {_message(job, moment)}")


def _message(job: TrainingJob, moment: str) -> str:
    fact = conditions.of(job.status.conditions, conditions.STALLED)
    if moment != Moment.FINISHED.value and fact is not None:
        return fact.message
    return job.status.message


def _slack(text: str) -> str:
    """The text as Slack shows it, with nothing that it would obey: a mention, a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
