"""The training container of a pod, as the operator has noted it."""

from trainingjobs.client.job import Manifest
from trainingjobs.model import labels


def name(pod: Manifest) -> str:
    """Its name."""
    notes = pod["metadata"].get("annotations") or {}
    first = (pod["spec"].get("containers") or [{}])[0].get("name")
    return str(notes.get(labels.CONTAINER) or first)


def state(pod: Manifest) -> Manifest:
    """`{"running": …}` or another; empty before there is one."""
    found = (pod.get("status") or {}).get("containerStatuses") or []
    mine = name(pod)
    return next((item.get("state") or {} for item in found if item.get("name") == mine), {})


def word(pod: Manifest) -> str:
    """`waiting`, `running` or `terminated`."""
    return next(iter(state(pod)), "waiting")


def number(pod: Manifest, label: str) -> int:
    """A number that the operator has written on the pod."""
    text = str((pod["metadata"].get("labels") or {}).get(label, ""))
    return int(text) if text.isdecimal() else 0
