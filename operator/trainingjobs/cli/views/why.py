"""Why a job does not run, stands still or has failed: one paragraph, for a person in a hurry.

The operator's own sentence comes first, since it has seen more; what the cluster says of the pods
is added where that sentence does not have it already.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from trainingjobs.cli.views import reasons, text
from trainingjobs.client.job import Job, Manifest
from trainingjobs.model.times import parse_time

_MAX_EVENTS = 3
_MAX_LINES = 3
_UNSEEN_SECONDS = 10
_UNHEARD_SECONDS = 60
_QUEUE = "kueue.x-k8s.io/queue-name"


def paragraph(job: Job, events: Sequence[Manifest], now: datetime, program: str) -> str:
    """The answer.

    Args:
        job: about whom.
        events: of the job and its pods, the latest last.
        now: for how long ago things were.
        program: what people type to call this.
    """
    return " ".join(_ended(part) for part in _sentences(job, events, now, program) if part)


def _sentences(job: Job, events: Sequence[Manifest], now: datetime, program: str) -> Iterator[str]:
    match job.phase:
        case "":
            yield from _unseen(job, now)
        case "Suspended":
            yield from _suspended(job, program)
        case "Succeeded":
            yield f"{job.name} has succeeded{_took(job)}: nothing is wrong"
            yield _before(job, now)
        case "Failed":
            yield from _failed(job, program)
        case "Running":
            yield from _running(job, now)
        case _:
            yield from _waiting(job, events, now)


def _unseen(job: Job, now: datetime) -> Iterator[str]:
    if manager := job.spec.get("managedBy"):
        yield f"{job.name} is managed by {manager}, which has said nothing of it yet"
        return
    yield f"no operator has looked at {job.name}, which was made {text.since(job.created, now)} ago"
    if job.created and (now - job.created).total_seconds() > _UNSEEN_SECONDS:
        yield (
            f"look whether one runs and serves namespace {job.namespace}: "
            "kubectl get deployments -A -l app.kubernetes.io/part-of=trainingjob-operator"
        )


def _suspended(job: Job, program: str) -> Iterator[str]:
    yield f"{job.name} is suspended (spec.suspend): it has no pods, and no clock runs"
    if (job.metadata.get("labels") or {}).get(_QUEUE):
        yield "it has the label of a Kueue queue, which nothing here reads"
    yield f"`{program} resume {job.name}` lets it go on"


def _waiting(job: Job, events: Sequence[Manifest], now: datetime) -> Iterator[str]:
    begun = job.time("attemptStartTime")
    since = f"begun {text.since(begun, now)} ago" if begun else "not begun"
    made = "" if begun else f"; the job was made {text.since(job.created, now)} ago"
    yield f"{job.name} is {job.phase} (attempt {job.attempt}, {since}{made})"
    yield job.message or _counts(job)
    if later := job.time("nextAttemptTime"):
        yield f"the next attempt starts in {text.span((later - now).total_seconds())}"
    if failure := job.status.get("failure"):
        yield _lines(failure, job.message)
    yield from told(events, job.message, now)
    yield reasons.of_wait_or_end(job)


def _running(job: Job, now: datetime) -> Iterator[str]:
    findings = job.status.get("findings") or []
    said = [str(found.get("message") or "") for found in findings]
    if job.holds("Stalled"):
        stalled = job.condition("Stalled")
        begun = datetime.fromisoformat(stalled["lastTransitionTime"])
        yield f"{job.name} has stalled, as was seen {text.since(begun, now)} ago"
        yield str(stalled.get("message") or job.message)
        yield from (words for words in said if words not in {stalled.get("message"), job.message})
    else:
        ready, doubt = job.status.get("ready"), reasons.doubt(job)
        yield f"{job.name} runs: {ready} instances{_step(job)}, in attempt {job.attempt}"
        yield from [doubt, *said] if doubt or said else ["nothing is known to be wrong"]
        yield _unheard(job, now)
        yield _before(job, now)
    yield reasons.of_run(job)


def _failed(job: Job, program: str) -> Iterator[str]:
    failure = job.status.get("failure") or {}
    yield f"{job.name} has failed{_took(job)}"
    yield job.message
    yield _lines(failure, job.message)
    if victims := failure.get("victims"):
        yield f"ranks {victims} fell after it, of its fall"
    if earlier := (job.status.get("attempts") or [])[:-1]:
        count = f"{len(earlier)} attempt" + ("s" if len(earlier) > 1 else "")
        yield f"{count} ended before it: `{program} describe {job.name}` tells how"
    yield reasons.of_wait_or_end(job)


def _unheard(job: Job, now: datetime) -> str:
    """Said of a group of which nobody has told anything: what its ranks do is not known."""
    began = job.time("runningTime")
    off = job.spec.get("rollCall") == "Disabled" or job.condition("Registered")
    if off or began is None or (now - began).total_seconds() < _UNHEARD_SECONDS:
        return ""
    return (
        f"but no rank has reported in the {text.since(began, now)} since they run, so what they do "
        "is not known: docs/troubleshooting.md, 'The reports do not arrive'"
    )


def _before(job: Job, now: datetime) -> str:
    """How the attempt before this one ended, for who saw that something had happened."""
    over = [it for it in job.status.get("attempts") or [] if it["attempt"] < job.attempt]
    if not over:
        return ""
    last = over[-1]
    failure, ended = last.get("failure") or {}, parse_time(last.get("endTime"))
    who = f", rank {failure['rank']} ({failure.get('pod')})" if failure else ""
    code = failure.get("exitCode")
    with_code = "" if code is None else f" with exit code {code}"
    ago = f" {text.since(ended, now)} ago" if ended else ""
    return f"attempt {last['attempt']} ended{ago}: {last.get('reason')}{who}{with_code}"


def _lines(failure: Manifest, known: str) -> str:
    said = [line.strip() for line in str(failure.get("message") or "").splitlines()]
    words = " / ".join([line for line in said if line][-_MAX_LINES:])
    return f"its last lines: {words}" if words and words not in known else ""


def _counts(job: Job) -> str:
    counts = job.status.get("instances") or {}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _step(job: Job) -> str:
    progress = job.status.get("progress")
    return f", {progress}" if progress else ""


def _took(job: Job) -> str:
    begun, ended = job.time("startTime"), job.time("completionTime")
    return f" after {text.span((ended - begun).total_seconds())}" if begun and ended else ""


def told(events: Iterable[Manifest], known: str, now: datetime) -> Iterator[str]:
    """The latest warnings that say something new."""
    seen = {" ".join(known.split())}
    new = []
    for event in reversed(list(events)):
        words = " ".join(str(event.get("message") or "").split())
        if event.get("type") == "Warning" and not any(words in other for other in seen):
            seen.add(words)
            new.append((event, words))
    for event, words in new[:_MAX_EVENTS]:
        about = event["involvedObject"].get("name")
        last = event.get("lastTimestamp") or event.get("eventTime")
        ago = text.since(datetime.fromisoformat(last), now) if last else "some time"
        yield f"{event.get('reason')} of {about}, {ago} ago: {words}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."
