"""Training that goes on and goes wrong: no sampler, no wrapper, other weights, one device."""

from typing import Any

import pytest

from builders import a_job, a_pod, ended
from diagnosis.given import a_report, an_entry, kinds, looked_at
from trainingjobs.diagnosis import data, wrapper
from trainingjobs.model.finding import Fact, Kind

WHOLE = {"sampler": "default", "samples": 60000, "fingerprint": "mnist"}
APART: dict[str, Any] = {"wrapper": None, "exchange": "none"}
EACH = (
    "each of 3 ranks trains on all 60000 samples: give the DataLoader at train.py:20 a "
    "DistributedSampler"
)


def group(**changes: Any) -> list[Any]:
    """Three ranks with the same in each."""
    return [a_report(rank, **changes) for rank in range(3)]


def mixed(common: dict[str, Any], one: dict[str, Any]) -> list[Any]:
    """Three ranks of which the second differs."""
    return [a_report(rank, **(common | (one if rank == 1 else {}))) for rank in range(3)]


def told(fact: Fact | None) -> tuple[bool | None, str] | None:
    """What a condition would say."""
    return fact and (fact.truth, fact.reason)


SHARDED: dict[str, tuple[list[Any], tuple[bool | None, str] | None]] = {
    "a distributed sampler": (group(), (True, data.SAMPLER)),
    "no sampler": (group(data=WHOLE), (False, Kind.UNSHARDED)),
    "no sampler and no wrapper": (group(data=WHOLE, model=APART), (False, Kind.UNSHARDED)),
    "the script says that it divides": (
        group(data=WHOLE, told={"sharded": True}),
        (True, data.TOLD),
    ),
    "a data set of its own for each rank": (
        [a_report(r, data={**WHOLE, "fingerprint": f"part-{r}"}) for r in range(3)],
        (True, data.BY_HAND),
    ),
    "data sets that cannot be told apart": (
        group(data={**WHOLE, "fingerprint": None}),
        (None, data.UNDECIDED),
    ),
    "data sets of different sizes": (
        [a_report(r, data={**WHOLE, "samples": 100 + r}) for r in range(3)],
        (None, data.UNDECIDED),
    ),
    "pairs of ranks with the same part": (
        [a_report(r, data={**WHOLE, "fingerprint": f"part-{r // 2}"}) for r in range(3)],
        (None, data.UNDECIDED),
    ),
    "an iterable data set": (group(data={"sampler": "iterable"}), (None, data.UNDECIDED)),
    "a sampler of the user's": (group(data={"sampler": "custom"}), (None, data.UNDECIDED)),
    "no data loader": (group(data={}), None),
    "too early": (group(data=WHOLE, steps=2), None),
    "parts of one model that read the same": (
        group(data=WHOLE, model={"wrapper": "PipelineStage", "exchange": "wrapped"}),
        (None, data.UNDECIDED),
    ),
    "tensor parallel by hand": (
        group(data=WHOLE, model={"exchange": "much"}),
        (None, data.UNDECIDED),
    ),
    "what is exchanged is not known yet": (
        group(data=WHOLE, model={"exchange": "unknown"}),
        (None, data.UNDECIDED),
    ),
}


@pytest.mark.parametrize(("reports", "fact"), SHARDED.values(), ids=SHARDED)
def test_whether_the_data_is_divided(
    reports: list[Any], fact: tuple[bool | None, str] | None
) -> None:
    found = looked_at(*reports)
    assert told(found.sharded) == fact
    assert (Kind.UNSHARDED in kinds(found)) == (fact is not None and fact[0] is False)


def test_the_missing_sampler_has_its_line_and_what_to_do() -> None:
    (finding,) = looked_at(*group(data=WHOLE)).findings
    assert (finding.message, finding.line, finding.ranks) == (EACH, "train.py:20", (0, 1, 2))


def test_one_rank_without_the_others_sampler_is_named() -> None:
    (finding,) = looked_at(*mixed({}, {"data": WHOLE})).findings
    assert finding.ranks == (1,)
    assert finding.message.startswith("rank 1 trains on all 60000 samples: ")


def test_what_is_not_heard_is_not_accused() -> None:
    (finding,) = looked_at(*group(data=WHOLE)[1:]).findings
    assert finding.ranks == (1, 2)
    assert finding.message.startswith("ranks 1-2 train on all 60000 samples: ")


def test_one_rank_alone_cannot_show_that_data_is_not_divided() -> None:
    assert told(looked_at(a_report(1, data=WHOLE)).sharded) == (None, data.UNDECIDED)


WRAPPED: dict[str, tuple[list[Any], tuple[bool | None, str] | None]] = {
    "DistributedDataParallel": (group(), (True, wrapper.WRAPPED)),
    "fully_shard before the first step": (
        group(stage="wrapped", steps=0, rate=0, model={"wrapper": "fully_shard"}),
        (True, wrapper.WRAPPED),
    ),
    "no wrapper": (group(model=APART), (False, Kind.UNWRAPPED)),
    "no wrapper and an averaged loss": (
        group(model={"exchange": "little"}),
        (False, "ModelNotWrapped"),
    ),
    "gradients averaged by hand": (group(model={"exchange": "much"}), (None, data.UNDECIDED)),
    "not known": (group(model={"exchange": "unknown"}), (None, data.UNDECIDED)),
    "the script says that it binds them": (
        group(model=APART, told={"wrapped": True}),
        (True, data.TOLD),
    ),
    "too early": (group(model=APART, steps=19), None),
    "one rank is bare and the others are wrapped": (
        mixed({}, {"model": APART}),
        (False, Kind.UNWRAPPED),
    ),
}


@pytest.mark.parametrize(("reports", "fact"), WRAPPED.values(), ids=WRAPPED)
def test_whether_the_model_is_wrapped(
    reports: list[Any], fact: tuple[bool | None, str] | None
) -> None:
    found = looked_at(*reports)
    assert told(found.wrapped) == fact
    assert (Kind.UNWRAPPED in kinds(found)) == (fact is not None and fact[0] is False)


def test_the_missing_wrapper_has_its_line_and_what_to_do() -> None:
    (finding,) = looked_at(*group(model=APART)).findings
    assert (finding.message, finding.line, finding.ranks) == (
        (
            "the replicas of 3 ranks train apart: wrap the model in DistributedDataParallel before "
            "train.py:41"
        ),
        "train.py:41",
        (0, 1, 2),
    )


def test_the_one_rank_without_wrapper_is_named() -> None:
    (finding,) = looked_at(*mixed({}, {"model": APART})).findings
    assert finding.ranks == (1,)
    assert finding.message.startswith("rank 1 trains apart from the others: ")


def test_a_script_without_a_process_group_is_told_so() -> None:
    lines = {"step": "train.py:41"}
    found = looked_at(*group(model=APART, lines=lines, sequence=None))
    assert found.findings[0].message == (
        "the replicas of 3 ranks train apart: call init_process_group and wrap the model in "
        "DistributedDataParallel before train.py:41"
    )


def test_a_job_of_one_needs_neither_sampler_nor_wrapper() -> None:
    found = looked_at(a_report(0, world=1, data=WHOLE, model=APART), job=a_job(1))
    assert (found.sharded, found.wrapped, kinds(found)) == (None, None, [])


EPOCHS: dict[str, tuple[dict[str, Any], bool]] = {
    "never set in the second epoch": ({"epochs": 2}, True),
    "not yet the second epoch": ({"epochs": 1}, False),
    "set": ({"epochs": 2, "epoch_set": True}, False),
    "not shuffled": ({"epochs": 2, "shuffle": False}, False),
    "another sampler": ({"epochs": 2, "sampler": "custom"}, False),
}


@pytest.mark.parametrize(("changes", "told"), EPOCHS.values(), ids=EPOCHS)
def test_an_epoch_that_is_never_set(changes: dict[str, Any], told: bool) -> None:
    shuffled = {"sampler": "distributed", "shuffle": True, "samples": 1, **changes}
    assert (Kind.EPOCH in kinds(looked_at(*group(data=shuffled)))) is told


def test_an_epoch_that_is_never_set_has_its_line_and_what_to_do() -> None:
    (finding,) = looked_at(
        *group(data={"sampler": "distributed", "shuffle": True, "epochs": 3})
    ).findings
    assert (finding.message, finding.line) == (
        (
            "every epoch has the same order in ranks 0-2: call the DistributedSampler's "
            "set_epoch(epoch) before the loop over the loader of train.py:20"
        ),
        "train.py:19",
    )


def summed(*values: str, step: int = 100) -> list[Any]:
    """Ranks with these digests of their parameters."""
    return [
        a_report(rank, world=len(values), checksum={"step": step, "value": value})
        for rank, value in enumerate(values)
    ]


DIFFER: dict[str, tuple[list[Any], tuple[int, ...]]] = {
    "all alike": (summed("a", "a", "a"), ()),
    "one differs": (summed("a", "b", "a"), (1,)),
    "two differ from most": (summed("a", "b", "a", "c", "a"), (1, 3)),
    "as many here as there": (summed("a", "b"), (0, 1)),
    "digests of different steps": (
        [*summed("a", "a"), a_report(2, checksum={"step": 200, "value": "b"})],
        (),
    ),
    "none was asked for": (group(), ()),
}


@pytest.mark.parametrize(("reports", "guilty"), DIFFER.values(), ids=DIFFER)
def test_replicas_that_differ(reports: list[Any], guilty: tuple[int, ...]) -> None:
    found = looked_at(*reports, job=a_job(len(reports)))
    assert [one.ranks for one in found.findings if one.kind is Kind.DIVERGED] == [guilty][
        : len(guilty)
    ]


def test_replicas_that_differ_have_their_step_and_what_to_do() -> None:
    (finding,) = looked_at(*summed("a", "b", "a")).findings
    assert finding.message == (
        "after step 100 rank 1 (mnist-worker-0 on node-a) has other parameters than the others: "
        "start from the same weights and call the wrapped model, not its .module"
    )


def test_parts_of_a_model_differ_rightly() -> None:
    parts = [
        a_report(rank, checksum={"step": 9, "value": f"{rank}"}, model={"wrapper": "PipelineStage"})
        for rank in range(3)
    ]
    assert Kind.DIVERGED not in kinds(looked_at(*parts))


def on_devices(*devices: str | None) -> list[Any]:
    """A pod of two ranks, and another of two."""
    return [
        an_entry(a_report(rank, world=4, device=device), rank // 2)
        for rank, device in enumerate(devices)
    ]


DEVICES: dict[str, tuple[list[Any], tuple[int, ...]]] = {
    "each its own": (on_devices("GPU-0", "GPU-1", "GPU-2", "GPU-3"), ()),
    "two ranks of one pod on one": (on_devices("GPU-0", "GPU-1", "GPU-2", "GPU-2"), (2, 3)),
    "two pods on one, as the cluster shares it": (
        on_devices("GPU-0", "GPU-1", "GPU-0", "GPU-3"),
        (),
    ),
    "no accelerator": (on_devices(None, None, None, None), ()),
}


@pytest.mark.parametrize(("reports", "guilty"), DEVICES.values(), ids=DEVICES)
def test_ranks_that_share_a_device(reports: list[Any], guilty: tuple[int, ...]) -> None:
    found = looked_at(*reports, job=a_job(2, processesPerInstance=2))
    assert [one.ranks for one in found.findings] == [guilty][: len(guilty)]


def test_a_shared_device_has_its_name_and_what_to_do() -> None:
    reports = on_devices("GPU-0", "GPU-0", "GPU-2", "GPU-3")
    (finding,) = looked_at(*reports, job=a_job(2, processesPerInstance=2)).findings
    assert finding.message == (
        "ranks 0-1 (mnist-master on node-a) share the device GPU-0: call torch.cuda.set_device "
        "with LOCAL_RANK before anything else"
    )


def test_what_goes_wrong_stays_known_when_the_ranks_have_ended() -> None:
    reports = group(data=WHOLE, model=APART, stage="ended", destroyed=True)
    found = looked_at(*reports, pods=[ended(rank, 0) for rank in range(3)])
    assert kinds(found) == [Kind.UNSHARDED, Kind.UNWRAPPED]
    assert a_pod(0) is not None
