"""What has to hold at every event of a job's life, whatever happened to the operator.

The story is what an independent watch of the API server told, in the order in which the API
server did it. Nothing here knows which fault was injected: a law has no exceptions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainingjobs.model import gang, labels

Body = dict[str, Any]

COUNTERS = ("attempt", "restarts", "disruptions")
FINAL = {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One event: what became of which object."""

    version: int
    kind: str
    type: str
    body: Body

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.body["metadata"]["name"])

    @property
    def uid(self) -> str:
        """The object's identity."""
        return str(self.body["metadata"]["uid"])

    @property
    def place(self) -> tuple[int, int]:
        """Attempt and rank of a pod."""
        return place(self.body)


@dataclass(slots=True)
class _World:
    """What is true after an event."""

    pods: dict[str, Body] = field(default_factory=dict)
    status: Body = field(default_factory=dict)
    final: Body | None = None
    made: dict[tuple[int, int], str] = field(default_factory=dict)
    services: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    asked: int = 0
    """Instances that the job asks for."""
    size: int = 0
    """Instances of the attempt that runs, by the status."""


def place(pod: Mapping[str, Any]) -> tuple[int, int]:
    """Attempt and rank of a pod."""
    tags = pod["metadata"]["labels"]
    return int(tags[labels.ATTEMPT]), int(tags[labels.RANK])


def lives(pod: Mapping[str, Any]) -> bool:
    """True until the pod has ended: one that is being deleted lives."""
    return pod.get("status", {}).get("phase") not in FINAL


def violations(
    story: Sequence[Seen], spec: Mapping[str, Any], taken: Collection[str] = ()
) -> list[str]:
    """The laws that were broken, with the event that broke each.

    Args:
        story: all events of one job, its pods, its service and its pod group.
        spec: what the job asks for.
        taken: uids of pods that the scenario deleted, which may be made again.
    """
    world = _World(asked=spec["PARALLEL_INSTANCES"])
    found: list[str] = []
    for seen in sorted(story, key=lambda seen: seen.version):
        broken = _LAWS[seen.kind]
        about = f"at {seen.version}, {seen.type} {seen.kind} {seen.name}"
        found += [f"{about}: {words}" for words in broken(world, seen, spec, taken)]
    return found


def _pod(
    world: _World, seen: Seen, _spec: Mapping[str, Any], taken: Collection[str]
) -> Iterator[str]:
    if seen.type == "DELETED":
        world.pods.pop(seen.uid, None)
        return
    born = seen.type == "ADDED" and seen.uid not in world.pods
    world.pods[seen.uid] = seen.body
    if born:
        yield from _birth(world, seen, taken)
    living = [place(pod) for pod in world.pods.values() if lives(pod)]
    if len({rank for _, rank in living}) != len(living):
        yield f"two live pods of one rank: {sorted(living)}"
    if len({attempt for attempt, _ in living}) > 1:
        yield f"two attempts live at once: {sorted(living)}"


def _birth(world: _World, seen: Seen, taken: Collection[str]) -> Iterator[str]:
    attempt, rank = seen.place
    if not 0 <= rank < (world.size or world.asked):
        yield f"rank {rank} is none of the group"
    if world.final is not None:
        yield "made after the end"
    if attempt != world.status.get("attempt", 1):
        yield f"made for attempt {attempt}, the status says {world.status.get('attempt')}"
    before = world.made.get(seen.place)
    if before is not None and before not in taken:
        yield f"made twice within attempt {attempt}"
    world.made[seen.place] = seen.uid


def _service(
    world: _World, seen: Seen, _spec: Mapping[str, Any], _taken: Collection[str]
) -> Iterator[str]:
    world.services.add(seen.uid)
    if len(world.services) > 1:
        yield "a second service"


def _group(
    world: _World, seen: Seen, _spec: Mapping[str, Any], _taken: Collection[str]
) -> Iterator[str]:
    world.groups.add(seen.uid)
    if len(world.groups) > 1:
        yield "a second pod group"


def _job(
    world: _World, seen: Seen, spec: Mapping[str, Any], _taken: Collection[str]
) -> Iterator[str]:
    old, new = world.status, seen.body.get("status") or {}
    world.status = new
    world.asked = (seen.body.get("spec") or spec)["PARALLEL_INSTANCES"]
    yield from _sizes(world, old, new)
    for counter in COUNTERS:
        if new.get(counter, 0) < old.get(counter, 0):
            yield f"{counter} goes back from {old[counter]} to {new.get(counter)}"
    if new.get("restarts", 0) > spec.get("maxRestarts", 3):
        yield f"{new['restarts']} restarts are more than maxRestarts"
    if world.final is not None and new != world.final:
        yield f"the final status changes: {_changes(world.final, new)}"
    if world.final is None and new.get("phase") in FINAL:
        world.final = new


def _sizes(world: _World, old: Body, new: Body) -> Iterator[str]:
    world.size = new.get("groupSize", 0)
    if new and sum(new["instances"].values()) != (world.size or world.asked):
        yield f"the counts do not add up: {new['instances']}"
    if old.get("startTime") and old.get("attempt") == new.get("attempt"):
        before = old.get("groupSize", world.size)
        if before != world.size:
            yield f"the group has {before} instances and then {world.size} in one attempt"


_LAWS = {"Pod": _pod, labels.KIND: _job, "Service": _service, gang.KIND: _group}


def _changes(old: Body, new: Body) -> str:
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return ", ".join(f"{key} {old.get(key)!r} to {new.get(key)!r}" for key in sorted(keys))
