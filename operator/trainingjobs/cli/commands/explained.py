"""What `explain` does; apart from its options, since the models take longest to load."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from trainingjobs import podfiles
from trainingjobs.cli import options, screen
from trainingjobs.cli.commands import reading
from trainingjobs.cli.views import explanation, paint
from trainingjobs.client.home import USUAL
from trainingjobs.client.job import Manifest
from trainingjobs.model import labels
from trainingjobs.model.job import Invalid, TrainingJob, parse
from trainingjobs.model.site import Site

_UID = "00000000-0000-0000-0000-000000000000"


def explain(
    job: str, only: Collection[int] | None, form: str | None, *, domain: str, url: str | None
) -> None:
    """Show the environment and the pods of these ranks, or of all."""
    parsed = parse(_complete(_manifest(job)))
    if isinstance(parsed, Invalid):
        raise screen.Failure(f"{job}: {parsed}")
    ranks = [rank for rank in range(parsed.size) if only is None or rank in only]
    if not ranks:
        raise screen.Failure(f"{job} has the ranks 0 to {parsed.size - 1}")
    _show(parsed, _site(domain, url), ranks, form)


def usual_reports(domain: str) -> str:
    """Where pods report to if the chart is installed as its page says."""
    return f"http://trainingjob-operator-rollcall.{USUAL}.svc.{domain}:8081/api/v1/reports"


def _site(domain: str, url: str | None) -> Site:
    """Where the operator works: as its chart installs it, unless somebody says otherwise."""
    return Site(
        domain=domain,
        report_url=usual_reports(domain) if url is None else url,
        reporter=podfiles.reporter(),
        launcher=podfiles.launcher(),
    )


def _show(job: TrainingJob, site: Site, ranks: list[int], form: str | None) -> None:
    if form:
        items = explanation.objects(job, site, ranks)
        screen.document({"apiVersion": "v1", "kind": "List", "items": items}, form)
        return
    for heading, lines in explanation.sections(job, site, ranks):
        if heading and lines:
            screen.write(["", paint.heading(f"{heading}:")])
        screen.write(f"{'  ' if heading else ''}{screen.printable(line)}" for line in lines)


def _manifest(job: str) -> Manifest:
    path = Path(job)
    if job != "-" and path.suffix not in {".yaml", ".yml", ".json"} and not path.exists():
        return screen.run(_fetched(job.rpartition("/")[2]))
    found = [item for item in reading.documents(path) if isinstance(item, dict)]
    chosen = [item for item in found if item.get("kind") == labels.KIND]
    if len(chosen) != 1:
        raise screen.Failure(f"{job} has {len(chosen)} TrainingJobs: one is explained at a time")
    if (wrong := reading.malformed(chosen[0])) is not None:
        raise screen.Failure(f"{job}: {wrong}")
    return dict(chosen[0])


async def _fetched(name: str) -> Manifest:
    async with screen.connect() as client:
        return (await client.get_job(name)).manifest


def _complete(manifest: Manifest) -> dict[str, Any]:
    """With what the API server would add."""
    own = manifest.get("metadata")
    given = own if isinstance(own, dict) else {}
    namespace = options.place().get("namespace") or given.get("namespace") or "default"
    metadata = {"name": "job", "uid": _UID, **given, "namespace": namespace}
    return {**manifest, "metadata": metadata}
