"""What blocks or ended a job, in one sentence each, with the cluster's own words in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from trainingjobs.model import text
from trainingjobs.model.finding import Kind
from trainingjobs.model.observed import PodSeen, Problem, Trouble, Waiting
from trainingjobs.model.status import Failure

UNSCHEDULABLE = "Unschedulable"
IMAGE = "ImagePullFailed"
"""One reason for the pull that failed and for the pause before the next: they alternate."""
_IMAGE_REASONS = {"ErrImagePull", "ImagePullBackOff"}
cut = text.cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What keeps a group from running: a stable reason and a sentence."""

    reason: str
    message: str


_ADVICE = {
    Trouble.INVALID: "the API server refuses the template of {name}: {words}",
    Trouble.QUOTA: "{created} of {size} pods created, then quota refused {name}: {words}",
    Trouble.FORBIDDEN: "{created} of {size} pods created, then {name} was refused: {words}",
    Trouble.CONFLICT: "{words}",
    Trouble.LEFTOVER: "{words}",
    Trouble.UNAVAILABLE: "the API server did not take {name}, trying again: {words}",
    Trouble.LEAVING: "the namespace is being deleted",
    Trouble.UNCHANGED: "{name} is not as the job needs it and cannot be changed, trying again "
    "(delete it to have it made anew): {words}",
}


def problem(trouble: Problem, created: int, size: int) -> str:
    """Why an object could not be made, or set right."""
    pattern = _ADVICE[trouble.trouble]
    return cut(pattern.format(name=trouble.name, words=trouble.message, created=created, size=size))


def fallen(failure: Failure) -> str:
    """Which rank fell, where, how, and its last line; a stall is told in its own words."""
    if failure.reason == Kind.STALLED:
        return cut(failure.message)
    where = f" on {failure.node}" if failure.node else ""
    last = failure.message.strip().rsplit("\n", 1)[-1]
    said = f": {last}" if last else ""
    return cut(f"rank {failure.rank} ({failure.pod}{where}) {_how(failure)}{said}")


def waiting(pods: Mapping[int, PodSeen]) -> Block | None:
    """What the lowest rank that cannot run yet waits for, and how many wait like it."""
    stuck = [pod for _, pod in sorted(pods.items()) if pod.unschedulable or pod.waiting]
    if not stuck:
        return None
    first = stuck[0]
    others = f" (and {len(stuck) - 1} more)" if len(stuck) > 1 else ""
    reason, words = _words(first)
    return Block(reason=reason, message=cut(f"rank {first.rank} ({first.name}){others} {words}"))


def _how(failure: Failure) -> str:
    if failure.reason in {"Gone", "Deleted"}:
        return "was deleted" if failure.reason == "Deleted" else "is gone"
    code = "" if failure.exit_code is None else f" with code {failure.exit_code}"
    kind = "" if failure.reason == "Error" else f" ({failure.reason})"
    return f"exited{code}{kind}" if code else f"was ended{kind}"


def _words(pod: PodSeen) -> tuple[str, str]:
    if pod.unschedulable is not None:
        return UNSCHEDULABLE, f"cannot be scheduled: {pod.unschedulable}"
    waits = pod.waiting or Waiting(reason="Unknown")
    reason = IMAGE if waits.reason in _IMAGE_REASONS else waits.reason
    said = f": {waits.message}" if waits.message else ""
    return reason, f"waits, {waits.reason}{said}"
