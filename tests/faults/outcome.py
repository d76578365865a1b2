"""What a job's life came to, without what may differ from one run to the next."""

from typing import Any

from faults.laws import Body, place
from faults.scene import Scene

_KEPT = (
    "phase",
    "attempt",
    "restarts",
    "disruptions",
    "ready",
    "replicas",
    "instances",
    "groupSize",
    "succeededRanks",
    "observedGeneration",
)
_DISRUPTED = {"Deleted", "EvictionByEvictionAPI", "Gone"}
"""A pod that went while nobody looked is gone; whoever saw it go can say how."""


def outcome(scene: Scene) -> dict[str, Any]:
    """The end of a life, to be compared with another run of the same life.

    What a deleted job leaves is the garbage collector's, and none runs here.
    """
    status = scene.status
    conditions = {it["type"]: (it["status"], it["reason"]) for it in status.get("conditions", ())}
    return {
        **{key: status.get(key) for key in _KEPT},
        "failure": _failure(status.get("failure")),
        "attempts": [
            (it["attempt"], _word(it["reason"]), _failure(it.get("failure")))
            for it in status.get("attempts", ())
        ],
        "conditions": conditions,
        "pods": [] if scene.gone else _pods(scene),
        "groups": 0 if scene.gone else len(scene.groups),
        "gone": scene.gone,
    }


def _pods(scene: Scene) -> list[tuple[int, int, str]]:
    return sorted((*place(pod), pod["status"]["phase"]) for pod in scene.pods.values())


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Where an outcome is not as it should be."""
    return [
        f"{key} is {found[key]!r}, without the fault it is {it!r}"
        for key, it in expected.items()
        if found[key] != it
    ]


def _failure(failure: Body | None) -> tuple[Any, ...] | None:
    if failure is None:
        return None
    word = _word(failure["reason"])
    if word == "Disrupted":
        return (failure["rank"], word)
    return (failure["rank"], word, failure.get("exitCode"), failure.get("victims", ""))


def _word(reason: str) -> str:
    return "Disrupted" if reason in _DISRUPTED else reason
