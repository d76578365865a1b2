"""A job at a glance: what fits a row of a list, and what a page of its own begins with."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from trainingjobs.model.text import cut

_MESSAGE = 240
_SPEC = (
    *("PARALLEL_INSTANCES", "framework", "processesPerInstance", "maxRestarts", "suspend"),
    *("stallTimeoutSeconds", "onStall", "elastic", "activeDeadlineSeconds"),
)
_STATUS = (
    *("phase", "ready", "progress", "attempt", "restarts", "disruptions", "startTime"),
    "completionTime",
)

Manifest = Mapping[str, Any]


def row(body: Manifest) -> dict[str, Any]:
    """What a list of jobs shows."""
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    training = status.get("training") or {}
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "created": metadata.get("creationTimestamp"),
        "instances": spec.get("PARALLEL_INSTANCES"),
        "framework": spec.get("framework") or "PyTorch",
        **{name: status.get(name) for name in _STATUS},
        "message": cut(str(status.get("message") or ""), _MESSAGE),
        "rate": training.get("stepsPerSecond"),
        "etaSeconds": training.get("etaSeconds"),
        "stalled": _holds(status, "Stalled"),
        "findings": [it.get("type") for it in status.get("findings") or ()],
    }


def head(body: Manifest) -> dict[str, Any]:
    """What the page of one job shows above its ranks; the status is bounded by its schema."""
    spec = body.get("spec") or {}
    chosen = {name: spec[name] for name in _SPEC if spec.get(name) is not None}
    told = {"spec": chosen, "status": body.get("status") or {}, "chapter": chapter(body)}
    return {**row(body), **told}


def chapter(body: Manifest) -> str:
    """Another one once something has happened that is told as an event; steps make none."""
    status = body.get("status") or {}
    told = [
        [it.get(name) for name in ("type", "status", "reason")]
        for it in status.get("conditions") or ()
    ]
    happened = [status.get("phase"), status.get("attempt"), told]
    return hashlib.sha256(json.dumps(happened).encode()).hexdigest()[:12]


def _holds(status: Manifest, kind: str) -> bool:
    told = status.get("conditions") or ()
    return any(it.get("type") == kind and it.get("status") == "True" for it in told)
