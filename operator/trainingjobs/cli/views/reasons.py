"""The words under which docs/messages.md says more, and a stall of which one is not sure."""

from collections.abc import Iterable, Iterator

from trainingjobs.client.job import Job

_WELL = "AllInstancesRunning"


def doubt(job: Job) -> str:
    """What is said of a group that makes no step and may be well; mostly nothing."""
    return "" if job.holds("Stalled") else str(job.condition("Stalled").get("message") or "")


def of_run(job: Job) -> str:
    """Where to look up what a job that runs is said to do."""
    stalled = job.condition("Stalled")
    findings = [found.get("type") for found in job.status.get("findings") or []]
    return _sentence([stalled.get("reason") if stalled.get("message") else "", *findings])


def of_wait_or_end(job: Job) -> str:
    """Where to look up what a job waits for, or has failed of."""
    registered = job.condition("Registered")
    missing = registered.get("reason") if registered.get("status") == "False" else ""
    failure = (job.status.get("failure") or {}).get("reason")
    told = [job.condition("Running").get("reason"), missing, failure]
    return _sentence(word for word in told if word != job.phase)


def _sentence(words: Iterable[str | None]) -> str:
    found = ", ".join(dict.fromkeys(_telling(words)))
    return f"reason: {found} (see docs/messages.md)" if found else ""


def _telling(words: Iterable[str | None]) -> Iterator[str]:
    return (word for word in words if word and word != _WELL)
