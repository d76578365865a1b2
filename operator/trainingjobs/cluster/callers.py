"""Whose report this is: from a pod's uid to the job, the attempt and the ranks it may speak for."""

from collections.abc import Callable
from dataclasses import dataclass

from trainingjobs.cluster.memo import Bounded
from trainingjobs.cluster.sheets import SPARE_PROCESSES
from trainingjobs.cluster.store import Key, Manifest, Store
from trainingjobs.frameworks import base
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.status import Phase

_REMEMBERED = 65_536
_OVER = frozenset({Phase.SUCCEEDED, Phase.FAILED})
_PATIENCE = 30.0
"""For so long a pod may not have been told of yet: watches and lists need their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A pod of a job's current attempt."""

    key: Key
    job_uid: str
    pod_uid: str
    attempt: int
    instance: int
    processes: int
    """Of each instance."""
    size: int
    """Instances of the job."""

    @property
    def ranks(self) -> range:
        """The ranks that it may speak for."""
        return range(self.instance * self.processes, (self.instance + 1) * self.processes)

    def may_be(self, rank: int, world: int | None) -> bool:
        """True for one of its ranks, or of those that it has in a group of so many.

        A script's own torchrun may start more of them in each pod than the job says. So many of
        a pod's processes are remembered as it is; more have to be asked for.
        """
        if rank in self.ranks:
            return True
        each, rest = divmod(world or 0, self.size)
        more = not rest and self.processes < each <= SPARE_PROCESSES
        return more and rank // each == self.instance


class UnknownPodError(Exception):
    """No pod that may report: not yet, or not at all."""

    def __init__(self, message: str, *, forever: bool, stranger: bool = False) -> None:
        super().__init__(message)
        self.forever = forever
        self.stranger = stranger
        """True when it was never seen as a pod of a job."""


class Callers:
    """Finds pods in the store, and remembers where it found them."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._homes: Bounded[str, str] = Bounded(_REMEMBERED)
        self._strangers: Bounded[str, float] = Bounded(_REMEMBERED)
        self._counts: Bounded[tuple[str, int], int] = Bounded(_REMEMBERED)

    def find(self, pod_uid: str) -> Caller:
        """The pod as one that may report.

        Raises:
            UnknownPodError: when it is none of a job, or of an attempt that is over.
        """
        home = self._home(pod_uid)
        found = self._store.pod(home, pod_uid)
        if found is None:
            raise UnknownPodError("this pod is gone, or its TrainingJob is", forever=True)
        body, pod = found
        status = body.get("status") or {}
        if status.get("phase") in _OVER:
            raise UnknownPodError("the TrainingJob of this pod is over", forever=True)
        attempt = max(int(status.get("attempt") or 0), 1)
        if pod.attempt < attempt:
            words = f"this pod is of attempt {pod.attempt}, which is over: {attempt} runs now"
            raise UnknownPodError(words, forever=True)
        metadata = body["metadata"]
        return Caller(
            key=(metadata["namespace"], metadata["name"]),
            job_uid=home,
            pod_uid=pod_uid,
            attempt=pod.attempt,
            instance=pod.rank,
            processes=self._processes(body),
            size=body["spec"].get("PARALLEL_INSTANCES", 1),
        )

    def _home(self, pod_uid: str) -> str:
        home = self._homes.get(pod_uid)
        if home is not None:
            return home
        found = self._store.home_of(pod_uid)
        if found is not None:
            return self._homes.put(pod_uid, found)
        since = self._strangers.get(pod_uid)
        if since is None:
            since = self._strangers.put(pod_uid, self._clock())
        late = self._clock() - since > _PATIENCE
        words = "this pod is not known as one of a TrainingJob's"
        raise UnknownPodError(words, forever=late, stranger=True)

    def _processes(self, body: Manifest) -> int:
        metadata = body["metadata"]
        known = metadata["uid"], int(metadata.get("generation") or 0)
        count = self._counts.get(known)
        if count is None:
            job = parse(body)
            count = base.processes(job) if isinstance(job, TrainingJob) else 1
            self._counts.put(known, count)
        return count
