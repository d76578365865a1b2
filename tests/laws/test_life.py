"""Laws of a job's life: whatever happens to its pods, in whatever order, these hold."""

from dataclasses import replace

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from builders import REPORTING, a_job
from laws.weather import Weather
from trainingjobs.model.gang import Gang
from trainingjobs.model.spec import OnStall
from trainingjobs.model.status import Phase, Status
from trainingjobs.plan import manifests
from world import World

SUSPENDED = Phase.SUSPENDED


class Life(Weather):
    """One job in a cluster that does its worst, and an operator that may die between steps."""

    @initialize(
        size=st.integers(min_value=1, max_value=5),
        restarts=st.integers(min_value=0, max_value=2),
        policy=st.sampled_from(["Running", "All", "None"]),
        elastic=st.booleans(),
        gang=st.booleans(),
        on_stall=st.sampled_from(["Report", "Restart"]),
        framework=st.sampled_from(["PyTorch", "MPI"]),
    )
    def apply(
        self,
        *,
        size: int,
        restarts: int,
        policy: str,
        elastic: bool,
        gang: bool,
        on_stall: str,
        framework: str,
    ) -> None:
        """The user applies a job."""
        sizes = {"elastic": {"minInstances": 1, "maxInstances": 5}} if elastic else {}
        spec = {"maxRestarts": restarts, "cleanPodPolicy": policy, "onStall": on_stall, **sizes}
        spec["framework"] = framework
        self.world = World(a_job(size, **spec))
        self.world.served = frozenset({Gang.KUBERNETES} if gang else ())
        self.told: Status = self.world.job.status

    @rule()
    def reconcile(self) -> None:
        """The operator looks and acts."""
        self.world.step()

    @rule(made=st.sampled_from([1, 2, 3]))
    def create_and_die(self, made: int) -> None:
        """The operator dies after its creates and before it could write what it did."""
        decision = self.world.decide()
        for manifest in (*decision.offer, *decision.create)[:made]:
            self.world.create(manifest)

    @rule()
    def write_and_die(self) -> None:
        """The operator dies after its write and before it could delete anything."""
        decision = self.world.decide()
        self.world.job = replace(self.world.job, status=decision.status)

    @rule()
    def lose_group(self) -> None:
        """Somebody deletes the pod group."""
        self.world.groups.clear()

    @rule(version=st.sampled_from(["# ours\n", "# newer\n"]))
    def upgrade(self, version: str) -> None:
        """Another version of the operator goes on: its pods report with other files."""
        reporter = {**REPORTING.reporter, "public/trainingjob/__init__.py": version}
        self.world.site = replace(REPORTING, reporter=reporter)

    @rule()
    def lose_files(self) -> None:
        """Somebody deletes what the pods report with."""
        self.world.files.clear()

    @rule()
    def hang(self) -> None:
        """The ranks stand still."""
        self.world.hang()

    @rule(suspend=st.booleans())
    def suspend(self, suspend: bool) -> None:
        """The user suspends or resumes."""
        job = self.world.job
        self.world.job = replace(job, spec=job.spec.model_copy(update={"suspend": suspend}))

    @rule(size=st.integers(min_value=1, max_value=5))
    def scale(self, size: int) -> None:
        """The user scales an elastic job, or a suspended one."""
        spec = self.world.job.spec
        if spec.elastic is not None or (spec.suspend and self.world.job.status.phase is SUSPENDED):
            changed = spec.model_copy(update={"parallel_instances": size})
            self.world.job = replace(self.world.job, spec=changed)

    @rule(port=st.sampled_from([29500, 1031]))
    def move(self, port: int) -> None:
        """The user gives a suspended job another port."""
        spec = self.world.job.spec
        if spec.suspend and self.world.job.status.phase is SUSPENDED:
            changed = spec.model_copy(update={"port": port})
            self.world.job = replace(self.world.job, spec=changed)

    @rule()
    def rest(self) -> None:
        """Left alone, the job comes to rest; carried out, a decision leaves nothing to do."""
        self.world.settle()
        assert not self.world.decide().acts
        job = self.world.job
        if job.status.finished or job.spec.suspend:
            assert not self.world.groups
        if not job.status.finished and not job.spec.suspend:
            ranks = {pod.rank for pod in self.world.pods.values()}
            done = set(self.world.look().of(job.attempt)) | ranks
            assert done <= set(range(job.size))
            assert self.world.service is not None
            assert self.world.service.spec == manifests.service(job)["spec"]

    @rule()
    def heal(self) -> None:
        """Whatever was lost, a few rounds bring all ranks back, unless the job is over."""
        assume(not self.world.job.spec.suspend)
        for _ in range(self.world.job.spec.max_restarts + 3):
            self.world.settle()
            for rank in range(self.world.job.size):
                self.world.run(rank)
        status = self.world.job.status
        assert status.finished or status.phase is Phase.RUNNING, status

    @invariant()
    def no_pod_waits_without_its_group(self) -> None:
        """What a decision makes is never a pod whose group is neither there nor made with it."""
        world = self.world
        made = world.decide().create
        if world.served and any(item["kind"] == "Pod" for item in made):
            assert world.groups or any(item["kind"] == "PodGroup" for item in made)

    @invariant()
    def each_start_is_of_a_rank_of_the_group(self) -> None:
        """Ranks are 0 to N-1, and no rank starts twice while its first pod lives."""
        living = {pod.rank for pod in self.world.pods.values() if not pod.ended}
        assert living <= set(range(5))
        assert not self.world.outside

    @invariant()
    def no_pod_is_made_before_its_files(self) -> None:
        """What a pod reports with is there when it is made, whoever made the others."""
        assert not self.world.without_files

    @invariant()
    def a_group_restarts_for_a_stall_only_where_that_is_asked_for(self) -> None:
        """A stall that is to be reported never ends an attempt."""
        job = self.world.job
        stalls = [past for past in job.status.attempts if past.reason == "Stalled"]
        assert not stalls or job.spec.on_stall is OnStall.RESTART

    @invariant()
    def counts_add_up(self) -> None:
        """Every instance is counted once."""
        status = self.world.job.status
        counts = status.instances.model_dump().values()
        assert str(sum(counts)) == (status.ready.partition("/")[2] or "0")


Life.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_life = Life.TestCase
