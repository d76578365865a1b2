"""What a user's program may be made of, and how nothing of the reporter's may touch it."""

import functools
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import _trainingjob._begin  # noqa: F401  (its parts need each other, and this is the door)
from _trainingjob import _data, _division, _fingerprint, _guard, _identity, _network, _steps, _told
from _trainingjob._finder import Finder
from _trainingjob._rhythm import BEAT
from _trainingjob._standing import ME
from reporter.collector import Answering, Collector
from reporter.pods import SOURCE, Pod, end


class Touched(Exception):  # noqa: N818  (it is an event)
    """Code of the user's was run."""


class Lazy:
    """As arrays of zarr and h5py are: each element is read from a file."""

    shape = (4,)
    dtype = "f4"

    def __getitem__(self, index: Any) -> Any:
        raise Touched


class Words(dict[str, str]):
    """A dictionary that fetches."""

    def __getitem__(self, index: Any) -> Any:
        raise Touched


class Rows(list[int]):
    """A list that fetches."""

    def __getitem__(self, index: Any) -> Any:
        raise Touched


@pytest.mark.parametrize("thing", [Lazy(), Words(a="b"), Rows([1])], ids=["array", "dict", "list"])
def test_a_fingerprint_runs_no_code_of_the_users(thing: Any) -> None:
    assert _fingerprint.of(SimpleNamespace(rows=thing))


def test_a_fingerprint_copies_no_corpus() -> None:
    text, many = "x" * 20_000_000, dict.fromkeys(range(100_000))
    tracemalloc.start()
    try:
        first = _fingerprint.of(SimpleNamespace(text=text, many=many))
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    assert first != _fingerprint.of(SimpleNamespace(text=text + "x", many=many))


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that reports, without a reporter."""
    monkeypatch.setattr(ME.now, "on", True)
    monkeypatch.setattr(_data, "DATA", _data.Division())
    monkeypatch.setattr(_network, "TRAFFIC", _network.Traffic())
    monkeypatch.setattr(ME.now, "reached", {"stepping"})
    monkeypatch.setattr(BEAT, "left", 0)
    monkeypatch.setattr(BEAT, "row", 0)


def test_data_that_cannot_be_looked_at_leave_the_rest_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_fingerprint, "of", lambda _: {}["absent"])
    loader = SimpleNamespace(dataset=[1], sampler=SimpleNamespace(num_replicas=2, rank=0))
    assert _division.of_loader(loader)["sampler"] == "distributed"


def test_a_loader_that_is_not_known_yet_is_not_called_default() -> None:
    data = _data.Division()
    with pytest.raises(ZeroDivisionError):
        data.of("train.py:1", None, lambda _: {"sampler": 1 / 0})
    assert data.told() == {}


class OwnEpoch:
    """As samplers of libraries are, with a set_epoch that nobody hears of."""

    num_replicas, rank = 2, 0

    def __init__(self) -> None:
        self.num_replicas, self.rank = 2, 0

    def set_epoch(self, epoch: int) -> None:
        """Torch's is not called."""
        self.epoch = epoch


@pytest.mark.usefixtures("on")
def test_a_set_epoch_that_cannot_be_seen_is_not_missed() -> None:
    loader = SimpleNamespace(sampler=OwnEpoch(), dataset=[1])
    _data._started(loader)  # noqa: SLF001
    told = _data.DATA.told()
    assert (told["sampler"], told["epochs"], told["epochSet"]) == ("distributed", 1, True)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    ("shares", "world", "stages", "sampler"),
    [
        ({"num_replicas": 1}, 2, set(), "custom"),
        ({"num_replicas": 2}, 2, {"sharded"}, "distributed"),
        ({}, 2, {"sharded"}, None),
        ({"num_replicas": 1}, 1, {"sharded"}, None),
    ],
)
def test_a_sampler_with_one_share_for_all_divides_nothing(
    shares: Any, world: int, stages: Any, sampler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ME.now, "reached", set())
    monkeypatch.setattr(ME.now, "lines", {})
    monkeypatch.setattr(ME.now, "world", world)
    _data._made(None, [1], **shares)  # noqa: SLF001
    assert ME.now.reached == stages
    if sampler:
        made = SimpleNamespace(rank=0, **shares)
        assert _division.of_sampler(made)["sampler"] == sampler
        assert _division.of_loader(SimpleNamespace(sampler=made))["sampler"] == sampler


def test_a_sampler_of_the_users_is_not_asked_for_its_length() -> None:
    class Draws:
        def __len__(self) -> int:
            raise Touched

    class Counts(Draws):
        def __init__(self) -> None:
            self.num_samples = 7

    assert _division.of_loader(SimpleNamespace(sampler=Draws()))["samples"] is None
    assert _division.of_loader(SimpleNamespace(sampler=Counts()))["samples"] == 7


class Optimizer:
    """What is read of one."""

    def __init__(self, size: int) -> None:
        self.param_groups = [{"params": [tensor(size)]}]


def tensor(size: Any) -> Any:
    return SimpleNamespace(numel=lambda: size)


def step(optimizer: Any, times: int = 1) -> None:
    for _ in range(times):
        _steps._begins()  # noqa: SLF001
        _steps.stepped(optimizer, (), {})


@pytest.mark.usefixtures("on")
def test_every_step_counts_whatever_made_its_gradients() -> None:
    optimizer, before = Optimizer(1), BEAT.steps
    BEAT.backward(0.0)
    step(optimizer, 100)
    assert BEAT.steps == before + 100


@pytest.mark.usefixtures("on")
def test_a_step_inside_of_a_step_is_the_same_and_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_steps, "NESTING", _steps.Nesting())
    before = BEAT.steps
    _steps._begins()  # noqa: SLF001
    _steps._begins()  # noqa: SLF001
    _steps.stepped(Optimizer(1), (), {})
    BEAT.last = 0.0
    _steps.stepped(Optimizer(1), (), {})
    assert BEAT.steps == before + 1
    assert BEAT.last


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("nested", [False, True])
def test_the_beginning_of_steps_is_heard_for_as_long_as_it_tells_something(
    monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    hooks: list[Any] = []

    def register(hook: Any) -> Any:
        hooks.append(hook)
        return SimpleNamespace(remove=lambda: hooks.remove(hook))

    nesting = _steps.Nesting()
    nesting.register = register
    monkeypatch.setattr(_steps, "NESTING", nesting)
    nesting.listen()
    optimizer, before = Optimizer(1), BEAT.steps
    for _ in range(100):
        for hook in hooks * (1 + nested):
            hook(optimizer, (), {})
        for _ in range(1 + nested):
            _steps.stepped(optimizer, (), {})
    assert BEAT.steps == before + 100
    assert bool(hooks) is nested


@pytest.mark.usefixtures("on")
def test_quick_steps_are_all_counted_and_some_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[Any] = []
    monkeypatch.setattr(_steps, "NESTING", _steps.Nesting())
    network = _network.stepped
    monkeypatch.setattr(_network, "stepped", lambda one: (looks.append(one), network(one)))
    optimizer, before = Optimizer(1), BEAT.steps
    step(optimizer, 10_000)
    assert BEAT.steps == before + 10_000
    assert _steps.LEARNING < len(looks) < 1000
    learned = len(looks)
    for _ in range(20):
        BEAT.exchanged(BEAT.last, BEAT.last)
        _network.TRAFFIC.passed((tensor(1),), {}, 1)
        step(optimizer)
    assert len(looks) - learned == 20, "what passes is always looked at"
    assert _network.TRAFFIC.most == 1


@pytest.mark.usefixtures("on")
def test_gradients_that_are_averaged_are_compared_with_what_is_stepped() -> None:
    """An optimizer made anew for each epoch is no larger model."""
    for _ in range(9):
        _network.TRAFFIC.passed((tensor(10),), {}, 0)
        step(Optimizer(10))
    assert _network._exchange(9, 0) == "much"  # noqa: SLF001


@pytest.mark.usefixtures("on")
def test_what_is_exchanged_for_which_of_two_models_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BEAT, "steps", 0)
    first, second = Optimizer(1000), Optimizer(2000)
    for _ in range(9):
        _network.TRAFFIC.passed((tensor(1),), {}, 0)
        step(first)
        step(second)
    assert _network.told()["model"]["exchange"] == "unknown"


def test_an_open_size_stays_open() -> None:
    class Open:
        def __int__(self) -> int:
            raise Touched

    assert _network._elements([tensor(2), tensor(Open())]) == 2  # noqa: SLF001
    assert _network._elements([tensor(2)] * 1000) == 2000  # noqa: SLF001


def test_what_fails_while_torch_is_imported_is_told_later() -> None:
    calls = []

    @_guard.part
    def told() -> str:
        calls.append(1)
        if len(calls) < 10:
            raise AttributeError
        return "now"

    assert [told() for _ in range(10)][-1] == "now"


def test_half_a_torch_is_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.distributed", SimpleNamespace())  # type: ignore[arg-type]
    assert _identity.group() == (None, None)


class Alarm:
    """A handler that is an object."""

    def __call__(self, *_: Any) -> None:
        """Fail."""
        raise Touched

    def method(self, *_: Any) -> None:
        """Fail."""
        raise Touched


class Slow:
    """Something that is interrupted while ours asks it."""

    @property
    def numel(self) -> Any:
        """What a tensor has."""
        signal.raise_signal(signal.SIGUSR1)
        return None

    def __float__(self) -> float:
        signal.raise_signal(signal.SIGUSR1)
        return 0.0


@pytest.mark.parametrize("handler", [Alarm(), Alarm().method, functools.partial(Alarm(), 1)])
def test_the_exception_of_a_handler_is_raised_through_ours(handler: Any) -> None:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Touched):
            _network.Traffic().passed((Slow(),), {}, 1)
        with pytest.raises(Touched):
            _told._number(Slow())  # noqa: SLF001
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_two_modules_of_one_loader_are_both_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive's loader is one for all of its modules."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("outer_one.py", "import inner_one\n")
        archive.writestr("inner_one.py", "")
    monkeypatch.syspath_prepend(tmp_path / "all.zip")
    finder, seen = Finder(), []
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    for name in ("inner_one", "outer_one"):
        finder.wait(name, lambda module: seen.append(module.__name__))
        assert finder.find_spec(name), "asked for first, as tools do"
    module = __import__("outer_one")
    for name in ("inner_one", "outer_one"):
        monkeypatch.delitem(sys.modules, name)
    assert seen == ["inner_one", "outer_one"]
    assert "exec_module" not in vars(module.__spec__.loader)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'"ok"', b'{"interval": null}'])
def test_an_answer_that_is_none_is_not_an_answer(
    pod: Pod, operator: Collector, body: bytes
) -> None:
    operator.answering = Answering(body=body)
    pod.script("""
        import time, trainingjob
        trainingjob.report(step=1)
        from _trainingjob import _thread
        reporter = _thread.LINE.reporter
        while not (reporter.failures or reporter.heard):
            time.sleep(0.01)
        print(reporter.heard)
    """)
    assert end(pod.start()) == (0, "0\n", "")


def test_an_exception_of_a_console_is_not_the_programs_end(pod: Pod, operator: Collector) -> None:
    pod.script("""
        import sys, trainingjob
        trainingjob.report(step=1)
        def console():
            try:
                1 / 0
            except ZeroDivisionError as error:
                sys.last_value = error
        console()
    """)
    assert end(pod.start()) == (0, "", "")
    assert operator.heard[-1].report.error is None


def test_who_joins_all_threads_comes_to_its_end(pod: Pod, operator: Collector) -> None:
    pod.script("""
        import threading, trainingjob
        trainingjob.report(step=1)
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join(20)
                print(thread)
    """)
    assert end(pod.start()) == (0, "", "")
    assert operator.heard


def test_threads_that_are_none_stop_no_signal(pod: Pod) -> None:
    """As gevent does it: what is started as a thread runs in the main one."""
    pod.script("""
        import _thread, signal, threading
        def start(function, args=(), kwargs={}):
            function(*args, **kwargs)
            return 1
        _thread.start_new_thread = threading._start_new_thread = start
        import trainingjob
        trainingjob.report(step=1)
        print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    """)
    assert end(pod.start(), 30) == (0, "set()\n", "")


def test_a_module_of_the_users_has_the_name(pod: Pod, operator: Collector) -> None:
    pod.script("WORD = 'mine'", "trainingjob.py")
    pod.script("import trainingjob; print(trainingjob.WORD)")
    assert end(pod.start()) == (0, "mine\n", "")
    (pod.work / "trainingjob.py").unlink()
    pod.script("import trainingjob; trainingjob.report(step=1)")
    assert end(pod.start()) == (0, "", "")
    assert operator.heard[-1].report.lines.step == "train.py:1"


def test_what_a_rank_starts_is_no_rank_and_its_failure_no_failure(
    pod: Pod, operator: Collector
) -> None:
    pod.script("import trainingjob; trainingjob.report(step=1); 1 / 0", "probe.py")
    pod.script("""
        import os, subprocess, sys, trainingjob
        trainingjob.report(step=1)
        subprocess.run([sys.executable, "probe.py"], stderr=subprocess.DEVNULL)
        other = {**os.environ, "RANK": "2"}
        subprocess.run([sys.executable, "probe.py"], env=other, stderr=subprocess.DEVNULL)
    """)
    parent = pod.start(RANK="1", WORLD_SIZE="3", TORCHELASTIC_RUN_ID="x")
    assert end(parent) == (0, "", "")
    said = [one for one in operator.last().values() if one.pid != parent.pid]
    assert {(one.rank, one.error is None) for one in said} == {(None, True), (2, False)}


def test_any_python_can_read_what_starts_first() -> None:
    """One that is too old for us says nothing: neither an error, nor anything at all."""
    text = (SOURCE / "_trainingjob" / "_sitecustomize.py").read_text()
    assert not re.search(r"__future__|->|\bf\"|: (str|int|Any)\b|:=|nonlocal", text)
    assert text.isascii()
    for python in filter(None, map(shutil.which, ("python2.7", "python3.6", "python3.7"))):
        code = subprocess.run([python, "-c", f"compile({text!r}, 'x', 'exec')"], check=False)
        assert code.returncode in (0, 127), "a shim of a Python that is not there says 127"
