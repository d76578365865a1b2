"""Between which sizes a PyTorchJob may shrink and grow."""

from typing import Any

from trainingjobs.convert import policy
from trainingjobs.convert.source import Source
from trainingjobs.model.limits import MAX_INSTANCES
from trainingjobs.model.spec import Manifest

_RENDEZVOUS = (
    "the operator starts the group anew with another size, and torchrun meets at the master",
    "leave it out; a script that resumes from its checkpoint needs nothing else",
)
_TOLD = {
    **dict.fromkeys(("rdzvBackend", "rdzvHost", "rdzvId", "rdzvConf", "standalone"), _RENDEZVOUS),
    "metrics": ("no autoscaler is made", "point one of yours at the job's scale subresource"),
}


def fields(spec: Source, size: int, *, masters: int) -> Manifest:
    """What `elasticPolicy` says, as fields of the spec.

    Args:
        spec: the foreign job's.
        size: how many instances the group starts with.
        masters: how many of them the policy does not count.
    """
    found = spec.child("elasticPolicy")
    if not found.names():
        return {}
    least = _bound(found, "minReplicas", masters, default=size)
    most = _bound(found, "maxReplicas", masters, default=size)
    if not least <= size <= most:
        found.note("minReplicas", f"the job starts with {size}", "the bounds were widened to it")
    elsewhere = str(found.look("rdzvBackend")).startswith("etcd")
    port = found.number("rdzvPort", least=1024, most=65535)
    restarts = found.number("maxRestarts", most=policy.MAX_RESTARTS)
    old = found.take("nProcPerNode")
    found.told(_TOLD)
    found.close()
    bounds = {"minInstances": min(least, size), "maxInstances": max(most, size)}
    return policy.present(
        {
            "elastic": bounds,
            "port": None if elsewhere else port,
            "processesPerInstance": policy.processes(found, "nProcPerNode", old),
            "maxRestarts": restarts,
        }
    )


def _bound(found: Source, name: str, masters: int, *, default: int) -> Any:
    bound = found.number(name, least=0, most=MAX_INSTANCES - masters)
    return max(1, default if bound is None else bound + masters)
