"""The same laws for an operator that sees late: news comes out of order, twice, or not at all.

Its memory of a pod is renewed only when the news of that pod arrives, and by the answers to
its own writes; names and uids keep what it does on old news from doing harm.
"""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from builders import SITE, a_job
from laws.weather import RANKS, Weather
from trainingjobs.model.observed import Observed, PodSeen, ServiceSeen
from trainingjobs.model.status import Phase, Status
from trainingjobs.plan import manifests
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision
from world import World

ROUNDS = 30


class Late(Weather):
    """A cluster, and an operator that remembers it as it was."""

    @initialize(size=st.integers(min_value=1, max_value=4), restarts=st.integers(0, 2))
    def apply(self, size: int, restarts: int) -> None:
        """The user applies a job."""
        self.world = World(a_job(size, maxRestarts=restarts))
        self.memory: dict[str, PodSeen] = {}
        self.service: ServiceSeen | None = None
        self.told = Status()

    @rule()
    def reconcile(self) -> None:
        """The operator acts on what it remembers."""
        decision = self._decide()
        for patch in decision.change:
            self._patch(patch)
        for manifest in decision.create:
            self._create(manifest)
        if decision.makes:
            decision = self._decide()
        self.world.job = replace(self.world.job, status=decision.status)
        for ref in decision.delete:
            self._delete(ref.name, ref.uid)

    @rule(rank=RANKS)
    def news(self, rank: int) -> None:
        """The news of one rank's pod arrives, once more or at last."""
        names = {pod.name for pod in self.memory.values() if pod.rank == rank}
        there = self.world.name_of(rank)
        for name in names | ({there} if there else set()):
            self._learn(name)

    @rule()
    def news_of_the_service(self) -> None:
        """The news of the service arrives, once more or at last."""
        self.service = self.world.service

    @rule()
    def list_all(self) -> None:
        """A sweep, or an operator that starts anew."""
        self.memory = dict(self.world.pods)
        self.service = self.world.service

    @rule(rank=RANKS)
    def bury_one(self, rank: int) -> None:
        """One deleted pod is gone, and the operator hears of it before the others are."""
        name = self.world.name_of(rank)
        if name is not None and self.world.pods[name].terminating:
            self.world.lose(rank)
            self._learn(name)

    @rule()
    def heal(self) -> None:
        """Once the news comes in, a few rounds bring all ranks back, unless the job is over."""
        for _ in range(ROUNDS):
            self.list_all()
            self.reconcile()
            self.bury()
            self.wait(400)
            for rank in range(self.world.job.size):
                self.world.run(rank)
        status = self.world.job.status
        assert status.finished or status.phase is Phase.RUNNING, status
        service = self.world.service
        wanted = manifests.service(self.world.job)["spec"]
        assert status.finished or (service and service.spec == wanted)

    def _decide(self) -> Decision:
        seen = Observed(pods=tuple(self.memory.values()), service=self.service)
        return decide(self.world.job, seen, self.world.now, SITE)

    def _create(self, manifest: dict) -> None:  # type: ignore[type-arg]
        """A name that is taken is our own child's: the refusal teaches what it is like now."""
        name = manifest["metadata"]["name"]
        taken = name in self.world.pods if manifest["kind"] == "Pod" else self.world.service
        if not taken:
            self.world.create(manifest)
        if manifest["kind"] == "Pod":
            self._learn(name)
        else:
            self.service = self.world.service

    def _patch(self, patch: dict) -> None:  # type: ignore[type-arg]
        """A patch names the uid that it means: a later service is not changed, only looked for."""
        there = self.world.service
        if there is None or there.uid != patch["metadata"]["uid"]:
            self.service = None
            return
        self.world.patch(patch)
        self.service = self.world.service

    def _delete(self, name: str, uid: str) -> None:
        """A deletion names the uid that it means: another pod of that name stays."""
        there = self.world.pods.get(name)
        if there is not None and there.uid == uid:
            self.world.remove(name)
        self._learn(name)

    def _learn(self, name: str) -> None:
        if name in self.world.pods:
            self.memory[name] = self.world.pods[name]
        else:
            self.memory.pop(name, None)


Late.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_late = Late.TestCase
