"""How soon a change of the status has to be told: by what it changes.

A condition that flips is what people and programs wait for; but for the steps of a group that
starts, which come one upon the other where nothing holds it up. How many pods run and what the
others wait for moves with each pod; how far the training is moves all the time, and where the
time went moves even while nothing happens.
"""

from enum import Enum
from typing import Any

from trainingjobs.model.status import Phase
from trainingjobs.status.conditions import CREATED, OF_ATTEMPT

Written = dict[str, Any]

_ACCOUNTS = {"goodput", "accountedTime"}
_NUMBERS = {"progress", "training", "troubledRanks", "findings"}
_WORDS = {"message", "ready", "instances", "replicas", "succeededRanks", "partialSince"}
_STARTING = {Phase.PENDING.value, Phase.STARTING.value}


class Haste(Enum):
    """From what is never written for its own sake to what is told at once."""

    NEVER = 0
    NUMBERS = 1
    """What moves while the training goes on, and the words of the roll call."""
    WORDS = 2
    """What moves with each pod."""
    SOON = 3
    """A step on the way to all that run, which may be there in a moment."""
    NOW = 4


def haste(old: Written, new: Written) -> Haste:
    """How soon the new status is to be written over the old one."""
    if _kinds(new) - _kinds(old):
        return Haste.NOW
    before, after = _facts(old), _facts(new)
    if before != after:
        return Haste.SOON if _starts(before, after) else Haste.NOW
    if _words(old) != _words(new):
        return Haste.WORDS
    return Haste.NEVER if _worth(old) == _worth(new) else Haste.NUMBERS


def _worth(status: Written) -> Written:
    return {key: it for key, it in status.items() if key not in _ACCOUNTS}


def _facts(status: Written) -> Written:
    """Phase, counters, times and what the conditions say, without their words."""
    patient = _ACCOUNTS | _NUMBERS | _WORDS | {"conditions"}
    told = status.get("conditions") or ()
    facts = {item["type"]: _fact(item) for item in told}
    return {**{key: it for key, it in status.items() if key not in patient}, "conditions": facts}


def _fact(condition: Written) -> Written:
    """A condition without its message; the roll call may put one fact in several ways."""
    words = {"message", "reason"} if condition["type"] in OF_ATTEMPT else {"message"}
    return {key: it for key, it in condition.items() if key not in words}


def _starts(before: Written, after: Written) -> bool:
    """True where nothing but the group's start has gone on: made, or all of it on nodes."""
    phases = {before.get("phase"), after.get("phase")}
    return phases <= _STARTING and _beyond_start(before) == _beyond_start(after)


def _beyond_start(facts: Written) -> Written:
    said = facts["conditions"].items()
    reasons = {name: {**it, "reason": _reason(it.get("reason"))} for name, it in said}
    return {**facts, "phase": None, "conditions": {**reasons, CREATED: None}}


def _reason(given: str | None) -> str | None:
    """A phase by the side of a condition tells no more than the phase does."""
    return None if given in _STARTING else given


def _kinds(status: Written) -> set[str]:
    return {found["type"] for found in status.get("findings") or ()}


def _words(status: Written) -> Written:
    """What is said of the pods; while they all run, only the roll call has something to say."""
    runs = status.get("phase") == Phase.RUNNING.value
    words = _WORDS - {"message"} if runs else _WORDS
    said = [it.get("message") for it in status.get("conditions") or () if _is_of_pods(it)]
    return {**{key: it for key, it in status.items() if key in words}, "conditions": said}


def _is_of_pods(condition: Written) -> bool:
    return condition["type"] not in OF_ATTEMPT
