"""What every rank of a job gets: its pod and its environment, as the operator would make them."""

from collections.abc import Iterable, Sequence

from trainingjobs.cli.views import text
from trainingjobs.client.job import Manifest
from trainingjobs.frameworks.base import Place
from trainingjobs.model import containers, labels, names
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.reserved import RESERVED
from trainingjobs.model.site import Site
from trainingjobs.plan import manifests

MAX_SHOWN = 16
Section = tuple[str, list[str]]


def objects(job: TrainingJob, site: Site, ranks: Iterable[int]) -> list[Manifest]:
    """The service and the pods of these ranks."""
    return [manifests.service(job), *(manifests.pod(job, rank, site) for rank in ranks)]


def sections(job: TrainingJob, site: Site, ranks: Sequence[int]) -> list[Section]:
    """Headings with their lines: the group, what is the same for all, what each has alone."""
    shown = ranks[:MAX_SHOWN]
    variables = {rank: _variables(manifests.pod(job, rank, site)) for rank in shown}
    same = _same(list(variables.values()))
    more = len(ranks) - len(shown)
    alone = f"pod {shown[0]}" if len(shown) == 1 else ""
    own = [] if alone else _own(variables, same)
    return [
        ("", text.fields(_facts(job, site))),
        ("Mistakes", mistakes(job)),
        (
            f"Environment of {alone or 'all ranks'}",
            [f"{name}={value}" for name, value in same.items()],
        ),
        ("Environment of each", own + ([f"… and {more} more: --rank chooses"] if more else [])),
    ]


def mistakes(job: TrainingJob) -> list[str]:
    """What the API server will refuse of the templates: it is told here before it is tried."""
    templates = filter(None, [job.spec.template, job.spec.master_template])
    return sorted(
        {
            f"container {item.get('name')} sets {variable['name']}, which makes the group"
            for template in templates
            for item in template["spec"]["containers"]
            for variable in item.get("env") or []
            if variable.get("name") in RESERVED
        }
    )


def _facts(job: TrainingJob, site: Site) -> list[tuple[str, object]]:
    place = Place(job=job, rank=names.MASTER_RANK, domain=site.domain)
    container = containers.trainer(job.spec.template)
    command = [*(container.get("command") or []), *(container.get("args") or [])]
    last = names.pod(job.name, job.size - 1)
    return [
        ("Job", f"{job.name} in namespace {job.namespace}"),
        ("Framework", job.spec.framework.value),
        ("Instances", f"{job.size}, with {place.world_size} ranks in all"),
        ("Pods", " … ".join(dict.fromkeys([names.pod(job.name, 0), last]))),
        ("Service", f"{names.service(job.name)}, headless"),
        ("Rendezvous", f"{place.address()}:{job.spec.port}"),
        ("Image", container.get("image")),
        ("Command", " ".join(map(str, command)) or "the image's own"),
    ]


def _variables(pod: Manifest) -> dict[str, str]:
    """The training container's, in their order; those from elsewhere by where they come from."""
    name = pod["metadata"]["annotations"][labels.CONTAINER]
    found = next(item for item in pod["spec"]["containers"] if item["name"] == name)
    return {item["name"]: _value(item) for item in found.get("env") or []}


def _value(variable: Manifest) -> str:
    if variable.get("valueFrom") is None:
        return str(variable.get("value") or "")
    (kind, of), *_ = variable["valueFrom"].items()
    where = of.get("name") or of.get("fieldPath") or of.get("resource") or ""
    return f"<{kind} {where}{'/' + of['key'] if of.get('key') else ''}>"


def _same(found: Sequence[dict[str, str]]) -> dict[str, str]:
    first = found[0]
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in found)
    }


def _own(variables: dict[int, dict[str, str]], same: dict[str, str]) -> list[str]:
    columns = dict.fromkeys(
        name for found in variables.values() for name in found if name not in same
    )
    rows = [
        (f"pod {rank}", *(found.get(name, "") for name in columns))
        for rank, found in variables.items()
    ]
    return text.columns([("", *columns), *rows]) if columns else []
