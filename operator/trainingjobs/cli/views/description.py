"""All about one job on one screen: how it fares, what went wrong first, and what to do next."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from trainingjobs.cli.views import pods as instances
from trainingjobs.cli.views import reasons, text
from trainingjobs.client.job import Job, Manifest
from trainingjobs.model.times import parse_time

Section = tuple[str, list[str]]
_MAX_EVENTS = 8
_MAX_LINES = 12
_INDENT = "  "


def sections(
    job: Job, pods: Sequence[Manifest], events: Sequence[Manifest], now: datetime, program: str
) -> list[Section]:
    """Headings, each with its lines; the first has none, and those without lines are left out.

    Args:
        job: which.
        pods: those that it has now.
        events: of the job and its pods, the latest last.
        now: for ages.
        program: what people type to call this.
    """
    table = text.columns(instances.rows(job, pods, now))
    if job.size > instances.MAX_ROWS:
        table.append(f"… and {job.size - instances.MAX_ROWS} more")
    found = [
        ("", text.fields(_facts(job, now))),
        ("Root cause", list(_cause(job))),
        ("Findings", list(_findings(job))),
        ("Ranks", table if pods or not job.finished else []),
        ("Attempts that are over", _attempts(job)),
        ("Events", list(_events(events, now))),
        ("What to do next", _next(job, pods, program)),
    ]
    return [(heading, lines) for heading, lines in found if lines]


def _facts(job: Job, now: datetime) -> Iterator[tuple[str, object]]:
    status, spec = job.status, job.spec
    yield "Name", job.name
    yield "Namespace", job.namespace
    yield "Phase", job.phase or "Unseen (no operator has looked at it yet)"
    yield "Message", job.message
    yield "Ready", status.get("ready")
    yield "Framework", spec.get("framework")
    yield "Progress", " ".join(_progress(status))
    yield "Metrics", ", ".join(f"{name} {value}" for name, value in _metrics(status).items())
    if job.phase:
        allowed = spec.get("maxRestarts")
        yield (
            "Attempt",
            (
                f"{job.attempt} (restarts {status.get('restarts', 0)} of {allowed}, "
                f"disruptions {status.get('disruptions', 0)})"
            ),
        )
    yield "Master", status.get("masterAddress")
    yield "Created", f"{text.since(job.created, now)} ago"
    begun, ended = job.time("startTime"), job.time("completionTime")
    if begun:
        yield "Took" if ended else "Runs for", text.span(((ended or now) - begun).total_seconds())
    yield "Goodput", (status.get("goodput") or {}).get("ratio")


def _progress(status: Manifest) -> Iterator[str]:
    training = status.get("training") or {}
    if status.get("progress"):
        yield str(status["progress"])
    if training.get("stepsPerSecond"):
        yield f"at {training['stepsPerSecond']} steps/s"
    if training.get("etaSeconds"):
        yield f"(about {text.span(training['etaSeconds'])} left)"


def _metrics(status: Manifest) -> dict[str, str]:
    return (status.get("training") or {}).get("metrics") or {}


def _cause(job: Job) -> Iterator[str]:
    failure = job.status.get("failure")
    if not failure:
        return
    node = f" on {failure['node']}" if failure.get("node") else ""
    code = failure.get("exitCode")
    how = failure.get("reason", "") + (f", exit code {code}" if code is not None else "")
    when = f" at {failure['time']}" if failure.get("time") else ""
    yield f"rank {failure.get('rank')} ({failure.get('pod')}{node}): {how}{when}"
    said = str(failure.get("message") or "").splitlines()
    yield from (f"  | {line}" for line in said[-_MAX_LINES:])
    if failure.get("victims"):
        yield f"ranks {failure['victims']} fell after it, of its fall"


def _findings(job: Job) -> Iterator[str]:
    if doubt := reasons.doubt(job):
        yield str(job.condition("Stalled").get("reason"))
        yield f"  {doubt}"
    for found in job.status.get("findings") or []:
        where = f" at {found['line']}" if found.get("line") else ""
        ranks = found.get("ranks")
        yield f"{found.get('type')}{f' (ranks {ranks}{where})' if ranks else where}"
        yield f"  {found.get('message')}"


def _attempts(job: Job) -> list[str]:
    found = job.status.get("attempts") or []
    rows: list[Sequence[str]] = [("ATTEMPT", "TOOK", "REASON", "FIRST", "CODE", "LAST STEP")]
    for item in found:
        failure = item.get("failure") or {}
        begun, ended = parse_time(item.get("startTime")), parse_time(item.get("endTime"))
        took = text.span((ended - begun).total_seconds()) if begun and ended else text.NONE
        first = f"rank {failure['rank']}" if failure else ""
        cells = (failure.get("exitCode"), item.get("step"))
        last = ["" if cell is None else str(cell) for cell in cells]
        rows.append((str(item.get("attempt")), took, str(item.get("reason")), first, *last))
    return text.columns(rows) if found else []


def _events(events: Iterable[Manifest], now: datetime) -> Iterator[str]:
    rows: list[Sequence[str]] = []
    for (kind, reason, words), alike in list(_alike(events).items())[-_MAX_EVENTS:]:
        latest = alike[-1]
        ago = text.since(parse_time(latest.get("lastTimestamp") or latest.get("eventTime")), now)
        names = sorted({str(event["involvedObject"].get("name")) for event in alike})
        others = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        rows.append((ago, kind, reason, f"{names[0]}{others}", words))
    if rows:
        yield from text.columns([("LAST", "TYPE", "REASON", "OBJECT", "MESSAGE"), *rows])


def _alike(events: Iterable[Manifest]) -> dict[tuple[str, str, str], list[Manifest]]:
    """Events that say the same of several pods, or several times; those told last are last."""
    found: dict[tuple[str, str, str], list[Manifest]] = {}
    for event in events:
        words = " ".join(str(event.get("message") or "").split())
        said = (str(event.get("type")), str(event.get("reason")), words)
        found[said] = [*found.pop(said, []), event]
    return found


def _next(job: Job, pods: Sequence[Manifest], program: str) -> list[str]:
    return text.columns([(f"{program} {command}", f"# {why}") for command, why in steps(job, pods)])


def steps(job: Job, pods: Sequence[Manifest]) -> list[tuple[str, str]]:
    """Commands that help now, each with what it is good for."""
    name = job.name
    there = {instances.rank(pod) for pod in pods}
    match job.phase:
        case "Suspended":
            return [(f"resume {name}", "let it go on")]
        case "Failed":
            guilty = (job.status.get("failure") or {}).get("rank")
            read = [(f"logs {name} --rank {guilty}", "all that the first one said")]
            again = [(f"retry {name}", "run it anew, once the cause is gone")]
            return [*(read if guilty in there else []), *again]
        case "Succeeded":
            return [(f"logs {name}", "what it has said")] if there else []
        case "Running":
            return [(f"logs -f {name}", "what all ranks say"), (f"why {name}", "in one paragraph")]
        case _:
            return [(f"why {name}", "what it waits for"), (f"wait {name}", "until it is over")]
