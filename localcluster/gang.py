"""Kubernetes' own gang scheduling, which is off unless GANG=1 asks for it.

It is off in most clusters, so it is off here: what is tested is what users have. The API and
the feature gate are beta in Kubernetes 1.37.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

GATE: Final = "GenericWorkload"
API: Final = "scheduling.k8s.io/v1beta1"
RESOURCE: Final = "podgroups"


def asked(env: Mapping[str, str] = os.environ) -> bool:
    """Whether groups of pods shall be placed as a whole."""
    return env.get("GANG", "") not in {"", "0"}


def gates(*, wanted: bool) -> list[str]:
    """What the controller manager and the scheduler are told."""
    return [f"--feature-gates={GATE}=true"] if wanted else []


def server(*, wanted: bool) -> list[str]:
    """What the API server is told."""
    return [*gates(wanted=True), f"--runtime-config={API}=true"] if wanted else []


def kind(*, wanted: bool) -> dict[str, Any]:
    """What kind is told."""
    return {"featureGates": {GATE: True}, "runtimeConfig": {API: "true"}} if wanted else {}
