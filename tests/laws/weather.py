"""What a cluster does to a job's pods, and the laws that hold whatever it does.

The machines that test the laws differ in the operator alone: in what it sees, and when it dies.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trainingjobs.model.status import Status
from world import World

RANKS = st.integers(min_value=0, max_value=4)
EDITS: list[dict[str, Any]] = [
    {"ports": []},
    {"ports": [{"name": "rendezvous", "port": 1}]},
    {"selector": None},
    {"selector": {"app": "theirs"}},
    {"publishNotReadyAddresses": False},
    {"type": "ExternalName", "clusterIP": ""},
]


class Weather(RuleBasedStateMachine):
    """One job in a cluster that does its worst."""

    world: World
    told: Status

    @rule(rank=RANKS)
    def run(self, rank: int) -> None:
        """A pod starts."""
        self.world.run(rank)

    @rule(rank=RANKS, code=st.sampled_from([0, 0, 1, 3, 137]))
    def end(self, rank: int, code: int) -> None:
        """A training container ends."""
        self.world.end(rank, code)

    @rule(rank=RANKS)
    def delete(self, rank: int) -> None:
        """Somebody deletes a pod."""
        self.world.remove(self.world.name_of(rank) or "")

    @rule(rank=RANKS)
    def lose(self, rank: int) -> None:
        """A node takes a pod with it."""
        self.world.lose(rank)

    @rule()
    def bury(self) -> None:
        """Deleted pods are gone."""
        self.world.bury()

    @rule()
    def lose_service(self) -> None:
        """Somebody deletes the service."""
        self.world.service = None

    @rule(edit=st.sampled_from(EDITS))
    def edit_service(self, edit: dict[str, Any]) -> None:
        """Somebody edits the service."""
        if self.world.service is not None:
            spec = {**self.world.service.spec, **edit}
            self.world.service = replace(self.world.service, spec=spec)

    @rule(seconds=st.sampled_from([1.0, 5.0, 60.0, 400.0]))
    def wait(self, seconds: float) -> None:
        """Time goes by."""
        self.world.pass_time(seconds)

    @invariant()
    def no_rank_lives_twice(self) -> None:
        """Pods of one attempt only may live, and each rank once."""
        living = [pod for pod in self.world.pods.values() if not pod.ended]
        assert max(Counter(pod.rank for pod in living).values(), default=1) == 1
        assert len({pod.attempt for pod in living}) <= 1

    @invariant()
    def what_is_told_never_goes_back(self) -> None:
        """Counters only grow, restarts stay in the budget, and the end is the end."""
        old, new = self.told, self.world.job.status
        assert new.attempt >= old.attempt
        assert new.restarts >= old.restarts
        assert new.disruptions >= old.disruptions
        assert new.restarts <= self.world.job.spec.max_restarts
        assert not old.finished or new == old
        self.told = new
