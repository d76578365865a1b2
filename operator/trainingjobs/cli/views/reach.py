"""Whether ranks would find each other, and nodes their image: as far as that shows unasked.

No name is looked up and no image is pulled, so that what is well here is no promise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trainingjobs.cli.views.health import Check
from trainingjobs.client.job import Manifest

_DNS_PODS = "kubectl -n kube-system get pods -l k8s-app=kube-dns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What was found out; None for what could not be."""

    unseen: Mapping[str, str] = field(default_factory=dict)
    """Why something could not be found out, by what it is about; else it may not be read."""
    slices: Sequence[Manifest] | None = None
    """EndpointSlices of the cluster's DNS."""
    image: str = ""
    """Empty where nobody asks for one."""
    nodes: Sequence[Manifest] | None = None
    secrets: Mapping[str, bool | None] | None = None
    """Whether the pull secrets are there that the namespace's default account names."""


def checks(found: Reach, namespace: str) -> Iterator[Check]:
    """All of them."""
    yield _dns(found)
    if found.image:
        yield _image(found)
        yield from _secrets(found, namespace)


def _dns(found: Reach) -> Check:
    if found.slices is None:
        why = found.unseen.get("dns") or "you may not list EndpointSlices of kube-system"
        return Check("dns", "unknown", f"kube-dns could not be looked at: {why}")
    ends = [end for item in found.slices for end in item.get("endpoints") or []]
    ready = [end for end in ends if (end.get("conditions") or {}).get("ready") is not False]
    if ready:
        return Check("dns", "ok", f"kube-dns has ready endpoints ({len(ready)}); no name was tried")
    if ends:
        words = "kube-dns has no ready endpoint, and ranks find each other by name"
        return Check("dns", "bad", words, _DNS_PODS)
    words = "kube-dns has no endpoints in kube-system: DNS comes from elsewhere here, or not at all"
    return Check("dns", "unknown", words)


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
    return Check("image", "unknown", words)


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
