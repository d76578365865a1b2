"""Laws of what the roll call says: whatever ranks report, or whether they do at all, these hold.

The ranks of this machine report what they like, a rank that trains says next that it never began,
and an operator that dies has heard of nobody. What is told of the job keeps its order all the same.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from diagnosis.given import a_report, an_entry, idle, joined, joining, spawned, waiting
from laws.test_transitions import Steps
from laws.weather import RANKS
from trainingjobs.model.roll import Roll
from trainingjobs.model.status import Phase, Status
from trainingjobs.status import conditions, goodput

WAYS = {
    "spawned": spawned,
    "joining": joining,
    "joined": joined,
    "steps": a_report,
    "waits": waiting,
    "stands": idle,
}


def spent(status: Status) -> int:
    """All seconds that are accounted for."""
    return sum(goodput.seconds(status.goodput).values())


def spoken(status: Status) -> dict[str, str]:
    """What the roll call's conditions say."""
    found = status.conditions
    return {item.type: item.status for item in found if item.type in conditions.OF_ATTEMPT}


class Called(Steps):
    """A job whose ranks say anything, in a cluster that does its worst."""

    @initialize()
    def listen(self) -> None:
        """Nothing has been told yet."""
        self.heard, self.before = 0, Status()

    @rule(rank=RANKS, way=st.sampled_from(sorted(WAYS)), told=st.none() | st.integers(0, 50))
    def report(self, rank: int, way: str, told: int | None) -> None:
        """A report of a rank arrives, and the operator looks."""
        self.hear(rank, way, told)
        self.world.step()

    @rule(ways=st.lists(st.sampled_from(sorted(WAYS)), min_size=5, max_size=5))
    def call(self, ways: list[str]) -> None:
        """All pods run, every rank reports, and the operator looks."""
        self.world.step()
        for rank in range(self.world.job.size):
            self.world.run(rank)
        for rank in range(self.world.job.size):
            self.hear(rank, ways[rank], 20)
        self.world.step()

    @rule(first=st.sampled_from(["steps", "stands"]), then=st.sampled_from(["joining", "steps"]))
    def agree(self, first: str, then: str) -> None:
        """All ranks do the same, one thing after the other."""
        self.call([first] * 5)
        self.call([then] * 5)

    @rule(code=st.sampled_from([0, 1]))
    def finish(self, code: int) -> None:
        """All ranks end where they stand, and the operator looks."""
        self.call(["stands"] * 5)
        for rank in range(self.world.job.size):
            self.world.end(rank, code)
        self.world.step()

    def hear(self, rank: int, way: str, told: int | None) -> None:
        """A report of a rank arrives, from its pod if it has one."""
        world = self.world
        pod = world.look().of(world.job.attempt).get(rank)
        kept = world.look().roll.entries
        report = WAYS[way](rank, world=max(world.job.size, rank + 1))
        said = report.told.model_copy(update={"step": told, "total": 60})
        report = report.model_copy(update={"told": said})
        uid = pod.uid if pod is not None else "nobody"
        entry = an_entry(report, received=world.now, pod_uid=uid)
        others = [it for it in kept if it.instance != rank]
        world.roll, world.roll_of = Roll(entries=(*others, entry)), world.job.attempt

    @rule()
    def forget(self) -> None:
        """The operator starts anew."""
        self.world.roll = Roll()

    @invariant()
    def what_is_told_keeps_its_order(self) -> None:
        """All statuses since the last look, one after the other."""
        for status in [*self.world.writes[self.heard :], self.world.job.status]:
            self.seconds_add_up(self.before, status)
            self.an_attempt_begins_with_nothing(self.before, status)
            self.ranks_join_once(self.before, status)
            self.before = status
        self.heard = len(self.world.writes)

    def seconds_add_up(self, old: Status, new: Status) -> None:
        """Each second is accounted for once, and none is taken back."""
        gained = {
            state: value - goodput.seconds(old.goodput)[state]
            for state, value in goodput.seconds(new.goodput).items()
        }
        assert min(gained.values()) >= 0
        if old.accounted_time and new.accounted_time:
            passed = (new.accounted_time - old.accounted_time).total_seconds()
            assert sum(gained.values()) == passed
        if new.finished and new.completion_time:
            assert new.accounted_time == new.completion_time

    def an_attempt_begins_with_nothing(self, old: Status, new: Status) -> None:
        """What was said of an attempt goes with it; what is over stalls no more."""
        if new.attempt > max(old.attempt, 1):
            assert not spoken(new)
            assert (new.findings, new.troubled_ranks, new.training) == ([], [], None)
        else:
            assert spoken(old).keys() <= spoken(new).keys()
        assert not new.finished or spoken(new).get("Stalled") != "True"

    def ranks_join_once(self, old: Status, new: Status) -> None:
        """Who has joined has joined, and Starting for the ranks' sake is before all Running."""
        if old.attempt == new.attempt and spoken(old).get("Registered") == "True":
            assert spoken(new)["Registered"] == "True"
        ready, _, size = new.ready.partition("/")
        if new.phase is Phase.STARTING and ready == size:
            assert new.running_time is None
            assert spoken(new)["Registered"] == "False"


Called.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
test_called = Called.TestCase
