"""Diagnoses for tables: what a test does not name has the value that most tests want."""

from typing import Any

from builders import NOW, a_job, a_pod, seen
from trainingjobs.model.finding import Diagnosis, Fact, Finding, Headway, Kind, RankStanding
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.report import Stage
from trainingjobs.model.status import Condition, Status
from trainingjobs.model.verdict import Step, Verdict
from trainingjobs.status import conditions
from trainingjobs.status.report import report

RUN = Verdict(step=Step.RUN)
ALL = seen(*(a_pod(rank) for rank in range(3)))
JOINED = Fact(truth=True, reason="AllRanksJoined", message="all 3 ranks joined")
JOINING = Fact(truth=False, reason="RanksMissing", message="2 of 3 ranks joined, missing 1: late")
STEPS = Fact(truth=False, reason="Progressing")
STANDS = Fact(truth=True, reason="Stalled", message="rank 1 stands at train.py:7")
SHARDED = Fact(truth=True, reason="DistributedSampler")
ALIKE = Fact(truth=True, reason="DistributedDataParallel")


def a_rank(rank: int, **changes: Any) -> RankStanding:
    """A rank that steps."""
    name = "mnist-master" if rank == 0 else f"mnist-worker-{rank - 1}"
    known = {"instance": rank, "pod": name, "node": "node-a", "stage": Stage.STEPPING, "step": 20}
    return RankStanding(**{"rank": rank, "since": NOW, "line": "train.py:9", **known, **changes})


def joining(**changes: Any) -> Diagnosis:
    """Two ranks that wait for the third in init_process_group."""
    known = {
        "ranks": tuple(
            a_rank(rank, step=0, stage=Stage.SPAWNED if rank == 1 else Stage.JOINING)
            for rank in range(3)
        ),
        "registered": JOINING,
        "stalled": None,
        "sharded": None,
        "wrapped": None,
        "headway": None,
    }
    return Diagnosis(**{**known, **changes})


def a_finding(kind: Kind = Kind.STALLED, ranks: tuple[int, ...] = (1,), **changes: Any) -> Finding:
    """Something is wrong with rank 1."""
    known = {"message": f"{kind.value}: do something", "line": "train.py:7"}
    return Finding(**{"kind": kind, "ranks": ranks, **known, **changes})


def healthy(**changes: Any) -> Diagnosis:
    """Three ranks that train as they should."""
    known = {
        "ranks": tuple(a_rank(rank) for rank in range(3)),
        "registered": JOINED,
        "stalled": STEPS,
        "sharded": SHARDED,
        "wrapped": ALIKE,
        "headway": Headway(step=20, total=50, rate=2.0, told=True),
    }
    return Diagnosis(**{**known, **changes})


def told(
    diagnosis: Diagnosis,
    *,
    after: Status | None = None,
    now: Any = NOW,
    verdict: Verdict = RUN,
    job: TrainingJob | None = None,
) -> Status:
    """What three pods that run say with this diagnosis."""
    known = job or a_job(status=after)
    return report(known, ALL, verdict, now, diagnosis)


def fact(status: Status, name: str) -> Condition | None:
    """A condition of the status."""
    return conditions.of(status.conditions, name)


def truths(status: Status) -> dict[str, str]:
    """What the roll call's conditions say."""
    return {
        item.type: item.status for item in status.conditions if item.type in conditions.OF_ATTEMPT
    }
