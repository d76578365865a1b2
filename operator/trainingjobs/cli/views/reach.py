"""Whether ranks would find each other, and nodes their image: as far as that shows unasked.

No name is looked up and no image is pulled, so that what is well here is no promise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from trainingjobs.cli.views import text
from trainingjobs.cli.views.health import Check
from trainingjobs.client.job import Job, Manifest
from trainingjobs.model.times import parse_time

_DNS_PODS = "kubectl -n kube-system get pods -l k8s-app=kube-dns"
_OF_LATE = timedelta(days=1)
_ALL_THERE = "Registered"
_TRY = "doctor --try runs a job that shows it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What was found out; None for what could not be."""

    unseen: Mapping[str, str] = field(default_factory=dict)
    """Why something could not be found out, by what it is about; else it may not be read."""
    slices: Sequence[Manifest] | None = None
    """EndpointSlices of the cluster's DNS."""
    jobs: Sequence[Manifest] = ()
    """TrainingJobs, whose ranks have found each other by name or not."""
    image: str = ""
    """Empty where nobody asks for one."""
    nodes: Sequence[Manifest] | None = None
    secrets: Mapping[str, bool | None] | None = None
    """Whether the pull secrets are there that the namespace's default account names."""


def checks(found: Reach, namespace: str, now: datetime) -> Iterator[Check]:
    """All of them."""
    yield _dns(found, now)
    if found.image:
        yield _image(found)
        yield from _secrets(found, namespace)


def tells(slices: Sequence[Manifest] | None) -> bool:
    """Whether the cluster's DNS is a service whose endpoints may be seen."""
    return any(item.get("endpoints") for item in slices or ())


def _dns(found: Reach, now: datetime) -> Check:
    if not tells(found.slices):
        return _names(found, now)
    ends = [end for item in found.slices or () for end in item.get("endpoints") or []]
    ready = [end for end in ends if (end.get("conditions") or {}).get("ready") is not False]
    if ready:
        return Check("dns", "ok", f"kube-dns has ready endpoints ({len(ready)}); no name was tried")
    words = "kube-dns has no ready endpoint, and ranks find each other by name"
    return Check("dns", "bad", words, _DNS_PODS)


def _names(found: Reach, now: datetime) -> Check:
    """A DNS that is no pod, or of which one may not know, is seen in what found each other."""
    met = [(then, job) for job in map(Job, found.jobs) if (then := _met(job))]
    then, job = max(met, key=lambda it: it[0], default=(None, None))
    if then and job and now - then < _OF_LATE:
        words = f"the ranks of {job.namespace}/{job.name} found each other by name"
        return Check("dns", "ok", f"{words} {text.since(then, now)} ago; no name was tried")
    if found.slices is None:
        why = found.unseen.get("dns") or "you may not list EndpointSlices of kube-system"
        return Check("dns", "unknown", f"kube-dns could not be looked at: {why}")
    words = "kube-dns has no endpoints in kube-system: DNS comes from elsewhere here, or not at all"
    return Check("dns", "unknown", words, _TRY)


def _met(job: Job) -> datetime | None:
    """When all ranks of a group had found its master: a rank alone asks for no name."""
    if job.size < 2 or not job.holds(_ALL_THERE):  # noqa: PLR2004
        return None
    return parse_time(job.condition(_ALL_THERE).get("lastTransitionTime"))


def _image(found: Reach) -> Check:
    if found.nodes is None:
        why = found.unseen.get("room") or "you may not list nodes"
        return Check("image", "unknown", f"which nodes have {found.image} cannot be told: {why}")
    name = full(found.image)
    having = [node for node in found.nodes if name in _images(node)]
    if having:
        words = f"{found.image} is on {len(having)} of {len(found.nodes)} nodes already"
        return Check("image", "ok", words)
    words = f"no node tells that it has {found.image}: only a pod shows whether it can be pulled"
    return Check("image", "unknown", words, _TRY)


def _images(node: Manifest) -> set[str]:
    """What the node tells of: the largest alone, where it has many."""
    found = (node.get("status") or {}).get("images") or []
    return {full(name) for item in found for name in item.get("names") or []}


def full(image: str) -> str:
    """The name as nodes have it: with registry and tag."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif first != "localhost" and "." not in first and ":" not in first:
        image = f"docker.io/{image}"
    tagged = "@" in image or ":" in image.rpartition("/")[2]
    return image if tagged else f"{image}:latest"


def _secrets(found: Reach, namespace: str) -> Iterator[Check]:
    if found.secrets is None:
        why = found.unseen.get("image") or "you may not get it"
        words = f"the service account default of {namespace} could not be read: {why}"
        yield Check("image", "unknown", words)
        return
    for name, there in found.secrets.items():
        if there:
            yield Check("image", "ok", f"pull secret {name} of account default is there")
        elif there is None:
            yield Check("image", "unknown", f"whether pull secret {name} is there cannot be told")
        else:
            words = f"pull secret {name} of account default is not in {namespace}"
            yield Check("image", "hint", words, "images that need it cannot be pulled")
