"""A cluster in memory, in which decisions are carried out and pods live, die and vanish.

It is the smallest API server that the laws need: names are unique, a deleted pod leaves in
two steps, and a status that is written stays.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from builders import NOW, REPORTING, heard
from cluster.fakeapi import merged
from trainingjobs.cluster import podgroups, services
from trainingjobs.model import gang, labels
from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Exit, Observed, PodSeen, ServiceSeen
from trainingjobs.model.roll import Entry, Roll
from trainingjobs.model.site import Site
from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Status
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision

ROUNDS = 50


@dataclass
class World:
    """One job, its pods by name, and the time."""

    job: TrainingJob
    now: datetime = NOW
    pods: dict[str, PodSeen] = field(default_factory=dict)
    service: ServiceSeen | None = None
    site: Site = REPORTING
    roll: Roll = field(default_factory=Roll)
    roll_of: int = 0
    """The attempt whose processes have told it."""
    files: set[str] = field(default_factory=set)
    """Names of the ConfigMaps and Secrets that are there."""
    served: frozenset[Gang] = frozenset()
    groups: dict[Gang, GroupSeen] = field(default_factory=dict)
    deleted: bool = False
    serial: int = 0
    outside: bool = False
    """Whether a rank was ever started that its group does not have."""
    without_files: bool = False
    """Whether a pod was ever made before a ConfigMap or a Secret that it mounts."""
    writes: list[Status] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)

    def look(self) -> Observed:
        """What an operator would see now."""
        return Observed(
            pods=tuple(self.pods.values()),
            service=self.service,
            groups=tuple(self.groups.values()),
            served=self.served,
            roll=self.roll if self.roll_of == self.job.attempt else Roll(),
        )

    def decide(self) -> Decision:
        """What an operator would do now."""
        return decide(self.job, self.look(), self.now, self.site)

    def step(self) -> Decision:
        """One reconcile: decide, create, look again, write the status, delete."""
        first = self.decide()
        for patch in first.change:
            self.patch(patch)
        for manifest in (*first.offer, *first.create):
            self.create(manifest)
        decision = self.decide() if first.makes else first
        for manifest in decision.keep:
            self.create(manifest)
        if decision.status != self.job.status:
            self.writes.append(decision.status)
            self.job = replace(self.job, status=decision.status)
        for ref in decision.delete:
            self.remove(ref.name)
        for group in decision.delete_groups:
            del self.groups[group.gang]
        self.deleted = self.deleted or decision.delete_job
        return decision

    def settle(self) -> None:
        """Reconcile until nothing changes; pods that were told to go are gone then.

        Raises:
            AssertionError: when it does not come to rest.
        """
        for _ in range(ROUNDS):
            before = self._all()
            decision = self.step()
            self.bury()
            if decision.wake_at is not None and decision.wake_at > self.now:
                self.now = decision.wake_at
            if self._all() == before:
                return
        raise AssertionError("the world does not come to rest")

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self.now += timedelta(seconds=seconds)

    def run(self, rank: int) -> None:
        """The pod of a rank gets a node and starts."""
        self._change(rank, phase="Running", node="node-a", scheduled=True, running=True)

    def end(self, rank: int, code: int) -> None:
        """The training container of a rank ends."""
        phase = "Succeeded" if code == 0 else "Failed"
        result = Exit(code=code, finished=self.now, reason="" if code == 0 else "Error")
        self._change(rank, phase=phase, running=False, exit=result, noticed_end=self.now)

    def hang(self) -> None:
        """All ranks stand still: the master where it should not, the others wait for it."""
        self.roll_of = self.job.attempt
        living = [pod for pod in self.look().of(self.roll_of).values() if pod.running]
        self.roll = Roll(entries=tuple(self._stuck(pod) for pod in living))

    def remove(self, name: str) -> None:
        """Somebody deletes a pod: it is told to go, and is gone at the next burial."""
        if name in self.pods:
            self.pods[name] = replace(self.pods[name], deletion_requested=self.now)

    def lose(self, rank: int) -> None:
        """The pod of a rank vanishes without a word."""
        name = self.name_of(rank)
        if name is not None:
            del self.pods[name]

    def bury(self) -> None:
        """Pods that were told to go are gone."""
        self.pods = {name: pod for name, pod in self.pods.items() if not pod.terminating}

    def name_of(self, rank: int) -> str | None:
        """The name of the pod of a rank, if there is one."""
        return next((name for name, pod in self.pods.items() if pod.rank == rank), None)

    def patch(self, patch: Manifest) -> None:
        """What is there changes; the operator means what it has seen, and nothing later."""
        if patch["kind"] == "Service":
            assert self.service is not None
            assert patch["metadata"]["uid"] == self.service.uid
            self.service = services.seen(merged({**patch, "spec": self.service.spec}, patch))
            return
        assert patch["metadata"]["uid"] == self.groups[Gang(patch["apiVersion"])].uid
        self._group(patch)

    def _stuck(self, pod: PodSeen) -> Entry:
        waits = {} if pod.rank == 0 else {"waits_in": "backward"}
        words = heard(pod.rank, world_size=self.job.size, steps=9, quiet_seconds=900.0, **waits)
        return replace(words, pod_uid=pod.uid, received=self.now, first=self.now)

    def _all(self) -> tuple[object, ...]:
        return dict(self.pods), self.service, dict(self.groups), self.job.status, self.now

    def _change(self, rank: int, **changes: object) -> None:
        name = self.name_of(rank)
        if name is not None and not self.pods[name].ended and not self.pods[name].terminating:
            self.pods[name] = replace(self.pods[name], **changes)  # type: ignore[arg-type]

    def _group(self, manifest: Manifest) -> None:
        group = podgroups.seen(manifest)
        assert group is not None
        self.groups[group.gang] = group

    def create(self, manifest: Manifest) -> None:
        """The API server makes an object; a ConfigMap or a Secret of ours that is there stays."""
        self.serial += 1
        if manifest["kind"] in {"ConfigMap", "Secret"}:
            self.files.add(manifest["metadata"]["name"])
            return
        named = {**manifest["metadata"], "uid": f"uid-{self.serial}"}
        if manifest["kind"] == "Service":
            assert self.service is None, "a name is taken"
            self.service = services.seen({**manifest, "metadata": named})
            return
        if manifest["kind"] == gang.KIND:
            assert Gang(manifest["apiVersion"]) not in self.groups, "a name is taken"
            self._group({**manifest, "metadata": named})
            return
        metadata = manifest["metadata"]
        assert metadata["name"] not in self.pods, "a name is taken: the API server would refuse"
        self.without_files |= not _files(manifest) <= self.files
        rank = int(metadata["labels"][labels.RANK])
        attempt = int(metadata["labels"][labels.ATTEMPT])
        self.starts.append((attempt, rank))
        self.outside |= rank >= self.job.size
        self.pods[metadata["name"]] = PodSeen(
            name=metadata["name"], uid=f"uid-{self.serial}", rank=rank, attempt=attempt
        )


def _files(pod: Manifest) -> set[str]:
    """The ConfigMaps and Secrets that a pod mounts."""
    sources = [
        source[kind]["name"]
        for volume in pod["spec"]["volumes"]
        for source in volume.get("projected", {}).get("sources", ())
        for kind in ("configMap", "secret")
        if kind in source
    ]
    return set(sources)
