"""Laws of the diagnosis: whatever processes say of themselves, these hold.

The reports are made from the model's own bounds: all that the door lets in, sense or nonsense.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from builders import NOW, a_job, a_pod, at, ended, pending, seen, starting
from diagnosis.given import a_report, an_entry, at_line
from trainingjobs.diagnosis.diagnose import diagnose
from trainingjobs.diagnosis.outcome import found
from trainingjobs.model.finding import Diagnosis, Kind
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed, PodSeen
from trainingjobs.model.report import Exchange, Frame, Report, Stage
from trainingjobs.model.roll import Entry, Roll
from trainingjobs.model.text import MAX_MESSAGE

MAX_SIZE = 4
LINES = 3
"""Few lines, ranks and collectives, so that many reports agree."""

BUSY = [HealthCheck.too_slow]
"""Of a machine that has other things to do."""
MANY = settings(max_examples=100, deadline=None, suppress_health_check=BUSY)
SOME = settings(max_examples=60, deadline=None, suppress_health_check=BUSY)

spans = st.one_of(st.sampled_from([0.0, 0.2, 6.0, 12.0, 40.0, 400.0, 3000.0]), st.floats(0, 1e9))
counts = st.one_of(st.integers(0, 50), st.integers(0, 2**53))
words = st.one_of(st.sampled_from(["train.py", "mnist"]), st.text(max_size=128))
places = st.one_of(
    st.none(),
    st.sampled_from(["", "train.py:7", "train.py:30"]),
    st.text(max_size=300),
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


frames = st.builds(
    Frame,
    file=st.sampled_from(["train.py", "torch/utils/data/dataloader.py", "x" * 300]),
    line=st.integers(0, LINES),
    function=st.sampled_from(["main", "<module>", "y" * 128]),
    user=st.booleans(),
)
data = st.fixed_dictionaries(
    {
        "sampler": maybe(st.sampled_from(["distributed", "custom", "default", "iterable"])),
        "samples": maybe(counts),
        "fingerprint": maybe(words),
        "shuffle": st.booleans(),
        "epochs": counts,
        "epoch_set": st.booleans(),
    }
)
model = st.fixed_dictionaries(
    {
        "wrapper": maybe(st.sampled_from(["DistributedDataParallel", "PipelineStage", "z" * 128])),
        "exchange": st.sampled_from(list(Exchange)),
    }
)
told = st.fixed_dictionaries(
    {
        "step": maybe(counts),
        "total": maybe(counts),
        "epoch": maybe(spans),
        "metrics": st.dictionaries(
            st.sampled_from(["loss", "acc"]), st.floats() | st.just("NaN"), max_size=2
        ),
        "sharded": maybe(st.booleans()),
        "wrapped": maybe(st.booleans()),
    }
)
lines = st.fixed_dictionaries(
    dict.fromkeys(("init", "sampler", "loader", "wrap", "step", "destroy"), places)
)


@st.composite
def reports(draw: st.DrawFn, process: str) -> Report:
    """Anything that the wire format allows."""
    said = {
        "version": 1,
        "process": process,
        "pid": draw(st.integers(0, 6)),
        "parent": draw(st.integers(0, 6)),
        "launcher": draw(st.sampled_from([False, False, False, True])),
        "rank": draw(maybe(st.integers(0, 2 * MAX_SIZE))),
        "world_size": draw(maybe(st.sampled_from([1, 2, 3, 4, 6, 8, 10_000_000]))),
        "stage": draw(st.sampled_from(list(Stage))),
        "stage_seconds": draw(spans),
        "steps": draw(counts),
        "rate": draw(spans),
        "quiet_seconds": draw(spans),
        "longest_quiet": draw(spans),
        "cpu": draw(spans),
        "io": draw(spans),
        "own_seconds": draw(maybe(spans)),
        "data_seconds": draw(maybe(spans)),
        "waits_in": draw(maybe(st.sampled_from(["backward", "barrier", "w" * 128]))),
        "sequence": draw(maybe(counts)),
        "frames": draw(st.lists(frames, max_size=3)),
        "lines": draw(lines),
        "data": draw(data),
        "model": draw(model),
        "device": draw(maybe(words)),
        "checksum": draw(maybe(st.fixed_dictionaries({"step": counts, "value": words}))),
        "error": draw(maybe(st.fixed_dictionaries({"type": words}))),
        "destroyed": draw(maybe(st.booleans())),
        "told": draw(told),
    }
    return Report.model_validate(said)


@st.composite
def entries(draw: st.DrawFn, size: int) -> tuple[Entry, ...]:
    """What the operator may remember of a job of so many pods."""
    heard = []
    for number in range(draw(st.integers(1, size + 2))):
        instance = draw(st.integers(0, size - 1))
        age = draw(st.sampled_from([0.0, 1.0, 15.0, 20.0, 60.0, 500.0, 9000.0]))
        entry = an_entry(
            draw(reports(f"process-{number}")),
            instance,
            received=at(-age),
            first=at(-age - draw(st.sampled_from([0.0, 30.0, 9000.0]))),
            interval=timedelta(seconds=draw(st.sampled_from([1, 5, 50]))),
        )
        heard.append(entry)
    return tuple(heard)


@st.composite
def pods(draw: st.DrawFn, rank: int) -> PodSeen | None:
    """A pod in any state, or none."""
    kinds = [
        a_pod(rank),
        a_pod(rank),
        a_pod(rank),
        a_pod(rank, phase="Unknown", running=False),
        a_pod(rank, deletion_requested=NOW),
        starting(rank),
        starting(rank, reason="ErrImagePull", message="m" * 2000),
        pending(rank, words="0/3 nodes\nare available " * 99),
        ended(rank, 0),
        ended(rank, 1),
        None,
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def situations(draw: st.DrawFn) -> tuple[TrainingJob, Observed]:
    """A job, its pods, and whatever their processes have said."""
    size = draw(st.integers(1, MAX_SIZE))
    job = a_job(
        size,
        processesPerInstance=draw(st.sampled_from([1, 1, 2])),
        framework=draw(st.sampled_from(["PyTorch", "PyTorch", "TensorFlow"])),
        stallTimeoutSeconds=draw(st.sampled_from([10, 300, 2**31 - 1])),
    )
    there = [pod for rank in range(size) if (pod := draw(pods(rank))) is not None]
    return job, seen(*there, roll=Roll(entries=draw(entries(size))))


def looked(situation: tuple[TrainingJob, Observed], now: datetime = NOW) -> Diagnosis:
    return diagnose(*situation, now)


@MANY
@given(situations())
def test_whatever_is_reported_the_answer_fits_the_resource(
    situation: tuple[TrainingJob, Observed],
) -> None:
    """No report breaks it; messages are one bounded line, and ranks are ranks of the group."""
    answer = looked(situation)
    numbers = [standing.rank for standing in answer.ranks]
    assert numbers == list(range(len(numbers)))
    assert all(0 <= standing.instance < situation[0].size for standing in answer.ranks)
    facts = [answer.registered, answer.stalled, answer.sharded, answer.wrapped]
    told = [*answer.findings, *(fact for fact in facts if fact is not None)]
    assert all(len(one.message) <= MAX_MESSAGE for one in told)
    assert all("\n" not in one.message for one in told)
    for finding in answer.findings:
        assert finding.message
        assert list(finding.ranks) == sorted(set(finding.ranks))
        assert set(finding.ranks) <= set(numbers)
        assert finding.line != ""


def test_a_finding_is_one_line_that_fits_however_much_is_said() -> None:
    finding = found(Kind.STALLED, (0,), "x\n" * 5000, "")
    assert len(finding.message) == MAX_MESSAGE
    assert "\n" not in finding.message
    assert finding.line is None


@SOME
@given(situations(), st.randoms(use_true_random=False))
def test_the_order_of_reports_and_pods_changes_nothing(
    situation: tuple[TrainingJob, Observed], chance: Any
) -> None:
    job, there = situation
    mixed, shuffled = list(there.roll.entries), list(there.pods)
    chance.shuffle(mixed)
    chance.shuffle(shuffled)
    other = replace(there, pods=tuple(shuffled), roll=Roll(entries=tuple(mixed)))
    # a loss that is no number equals nothing, itself included: the text of both does
    assert repr(looked((job, other))) == repr(looked(situation))


@SOME
@given(situations())
def test_the_next_look_lies_ahead_and_the_last_one_comes(
    situation: tuple[TrainingJob, Observed],
) -> None:
    """Where nobody reports any more, the operator comes to rest."""
    now: datetime | None = NOW
    for _ in range(40):
        assert now is not None
        again = looked(situation, now).look_again
        assert again is None or again > now
        if again is None:
            return
        now = again
    raise AssertionError("it looks for ever")


@SOME
@given(situations(), st.floats(0.001, 0.999))
def test_until_the_next_look_nothing_changes(
    situation: tuple[TrainingJob, Observed], part: float
) -> None:
    """Whoever looks in between sees the same: the operator sleeps until then."""
    answer = looked(situation)
    again = answer.look_again or NOW + timedelta(days=1)
    between = NOW + (again - NOW) * part
    assume(NOW <= between < again)
    assert repr(looked(situation, between)) == repr(answer)


@st.composite
def healthy(draw: st.DrawFn) -> tuple[TrainingJob, Observed]:
    """A group that trains as it should, at any speed, seen at any moment of its steps."""
    size = draw(st.integers(1, 6))
    pace = draw(st.floats(0.001, 100))
    steps = draw(st.integers(1, 10**6))
    job = a_job(size)
    told = []
    for rank in range(size):
        report = a_report(
            rank,
            size,
            steps=steps + draw(st.integers(0, 1)),
            rate=1 / pace,
            quiet_seconds=draw(st.floats(0, min(2 * pace, 290))),
            longest_quiet=pace,
            own_seconds=pace / 2 * draw(st.floats(0.8, 1.2)),
            data_seconds=pace / 10,
            sequence=steps * 4 + draw(st.integers(0, 4)),
            cpu=draw(st.floats(0, 4)),
            waits_in=draw(st.sampled_from([None, "backward", "all_reduce"])),
            frames=at_line(draw(st.integers(1, LINES))),
            device=draw(st.sampled_from([None, f"GPU-{rank}"])),
        )
        told.append(an_entry(report, received=at(-draw(st.floats(0, 6)))))
    return job, seen(*map(a_pod, range(size)), roll=Roll(entries=tuple(told)))


@MANY
@given(healthy())
def test_nothing_is_found_in_a_healthy_group(situation: tuple[TrainingJob, Observed]) -> None:
    answer = looked(situation)
    assert answer.findings == ()
    assert answer.registered is not None
    assert answer.stalled is not None
    assert (answer.registered.truth, answer.stalled.truth) == (True, False)


@SOME
@given(healthy(), st.data())
def test_the_one_that_stops_is_the_one_that_is_named(
    situation: tuple[TrainingJob, Observed], data: st.DataObject
) -> None:
    """Of any group, whichever rank stops outside of the collectives that the others wait in."""
    job, there = situation
    assume(job.size > 1)
    guilty = data.draw(st.integers(0, job.size - 1))
    stopped = tuple(_stopped(entry, guilty) for entry in there.roll.entries)
    answer = looked((job, replace(there, roll=Roll(entries=stopped))))
    assert [(one.kind, one.ranks) for one in answer.findings] == [(Kind.STALLED, (guilty,))]


def _stopped(entry: Entry, guilty: int) -> Entry:
    waits = None if entry.report.rank == guilty else "backward"
    still = {"quiet_seconds": 1000.0, "waits_in": waits, "cpu": 0.0, "io": 0.0}
    return replace(entry, received=NOW, report=entry.report.model_copy(update=still))


def test_who_speaks_for_a_rank_that_is_gone_changes_at_a_look() -> None:
    """Its pod has ended; of its two processes the one that is not heard any more is not chosen."""
    rivals = [
        replace(an_entry(a_report(None, 2, process=name), 1), first=at(-first), received=at(-age))
        for name, first, age in (("a", 50, 10), ("b", 60, 0))
    ]
    roll = Roll(entries=(an_entry(a_report(0, 2)), *rivals))
    situation = a_job(2), seen(a_pod(0), ended(1, 0), roll=roll)
    answer = looked(situation)
    assert answer.look_again is not None
    assert repr(looked(situation, answer.look_again - timedelta(seconds=0.001))) == repr(answer)
    later = looked(situation, NOW + timedelta(seconds=15))
    assert later.ranks != answer.ranks
    assert answer.look_again <= NOW + timedelta(seconds=15)
