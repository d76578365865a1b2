"""The reporter's parts that need no process of their own: tables of what they make of what."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from _trainingjob import (
    _division,
    _fingerprint,
    _frames,
    _guard,
    _identity,
    _patch,
    _sender,
    _waits,
)
from _trainingjob._finder import Finder
from _trainingjob._network import TRAFFIC, Traffic
from _trainingjob._rhythm import REST, ROW, Rhythm
from _trainingjob._standing import ENDED, SHARDED, STEPPING, WRAPPED, Standing
from trainingjobs.model.report import MAX_BODY, MAX_FRAMES

USER = ("/app/train.py", 12, "main", "__main__")
TORCH = "/usr/lib/python3/dist-packages/torch"
JAX = "/opt/venv/lib/python3.12/site-packages/jax/_src"
C10D = f"{TORCH}/distributed/distributed_c10d.py"


@pytest.mark.parametrize(
    ("calls", "stages"),
    [
        (["join", "joined"], ["joining", "joined"]),
        ([SHARDED, WRAPPED], ["spawned", "spawned"]),
        ([SHARDED, "join", "joined"], ["spawned", "joining", "sharded"]),
        (["join", "joined", WRAPPED, SHARDED], ["joining", "joined", "wrapped", "wrapped"]),
        ([STEPPING, WRAPPED], ["stepping", "stepping"]),
        ([STEPPING, "join", "joined"], ["stepping", "joining", "joined"]),
        (["join", "joined", STEPPING, "leave", STEPPING, ENDED],
         ["joining", "joined", "stepping", "left", "left", "ended"]),
        (["join", "joined", WRAPPED, "leave", "join", "joined"],
         ["joining", "joined", "wrapped", "left", "joining", "joined"]),
    ],
)  # fmt: skip
def test_a_stage_is_the_farthest_that_is_reached(calls: list[str], stages: list[str]) -> None:
    standing = Standing()
    seen = []
    for call in calls:
        act: Callable[[], bool] = getattr(standing, call, lambda call=call: standing.reach(call))
        act()
        seen.append(standing.stage)
    assert seen == stages


@pytest.fixture
def rhythm() -> Rhythm:
    made = Rhythm()
    made.last = 0.0
    return made


def steps(rhythm: Rhythm, moments: range) -> None:
    for moment in moments:
        rhythm.fetched(moment + 0.1, moment + 0.3)
        rhythm.exchanged(moment + 0.3, moment + 0.4)
        rhythm.backward(moment + 0.5)
        rhythm.came_back(moment + 0.9)
        rhythm.step(float(moment + 1))


def test_own_time_is_what_no_collective_and_no_backward_took(rhythm: Rhythm) -> None:
    steps(rhythm, range(10))
    own, data = rhythm.shares()
    assert own == pytest.approx(0.4)
    assert data == pytest.approx(0.2)


def test_backward_passes_of_one_step_add_up(rhythm: Rhythm) -> None:
    rhythm.step(0.0)
    rhythm.backward(1.0)
    rhythm.came_back(2.0)
    rhythm.backward(5.0)
    rhythm.came_back(6.0)
    rhythm.step(7.0)
    assert rhythm.shares() == (4.0, 0.0)


def test_an_evaluation_in_between_is_no_usual_step(rhythm: Rhythm) -> None:
    steps(rhythm, range(20))
    rhythm.backward(320.0)
    rhythm.step(320.5)
    own, _ = rhythm.shares()
    assert own == pytest.approx(0.4)


def test_nothing_is_said_before_there_are_two_steps(rhythm: Rhythm) -> None:
    rhythm.backward(1.0)
    rhythm.step(100.0)
    assert rhythm.shares() == (None, None)


def looks(rhythm: Rhythm, count: int, pace: float, start: float = 0.0) -> list[int]:
    """Steps as the hook tells them: which of so many were looked at."""
    seen = []
    for number in range(count):
        if rhythm.left:
            rhythm.left -= 1
            rhythm.steps += 1
            continue
        seen.append(number)
        now = start + number * pace
        if rhythm.awake:
            rhythm.backward(now - pace / 2)
        rhythm.step(now)
        rhythm.rest(now)
    return seen


def test_quick_steps_are_looked_at_in_rows_and_counted_all(rhythm: Rhythm) -> None:
    seen = looks(rhythm, 5000, 0.001)
    assert rhythm.steps == 5000
    rests = [after - before - 1 for before, after in pairwise(seen) if after - before > 1]
    assert rests == pytest.approx([REST / 0.001] * 9, abs=2)
    assert len(seen) == pytest.approx(10 * (1 + ROW), abs=ROW)
    own, _ = rhythm.shares()
    assert own == pytest.approx(0.0005), "no step counts that was not looked at from its beginning"
    assert rhythm.rate(5.0) == pytest.approx(1000, rel=0.02)


def test_steps_that_are_not_quick_are_all_looked_at(rhythm: Rhythm) -> None:
    assert len(looks(rhythm, 500, 0.02)) == 500


def test_what_passes_is_looked_at_with_its_step(rhythm: Rhythm) -> None:
    looks(rhythm, 100, 0.001)
    assert rhythm.left
    rhythm.exchanged(0.1, 0.1)
    assert looks(rhythm, 3, 0.001, 0.101)[0] == 0


def test_what_has_become_slow_is_looked_at_again(rhythm: Rhythm) -> None:
    looks(rhythm, 100, 0.001)
    rhythm.stir(0.1)
    assert not rhythm.awake
    rhythm.stir(2.0)
    assert (rhythm.left, rhythm.awake) == (0, True)
    rhythm.fetched(2.0, 2.1)
    assert rhythm.quiet(2.1) == 0
    rhythm.backward(2.2)
    rhythm.step(2.3)
    assert rhythm.shares()[0] == pytest.approx(0.0005), "its beginning was not seen"


def test_the_rate_is_that_of_the_last_minute(rhythm: Rhythm) -> None:
    steps(rhythm, range(600))
    assert rhythm.rate(600.0) == pytest.approx(1.0)
    assert len(rhythm.points) == 60


def test_the_rate_of_slow_steps(rhythm: Rhythm) -> None:
    for number in range(5):
        rhythm.step(300.0 * number)
    assert rhythm.rate(1500.0) == pytest.approx(1 / 300)


def test_the_rate_falls_when_nothing_moves(rhythm: Rhythm) -> None:
    steps(rhythm, range(60))
    assert rhythm.rate(60 + 3600.0) < 0.02


def test_a_collective_that_comes_back_is_a_sign_of_progress(rhythm: Rhythm) -> None:
    begin = rhythm.last
    rhythm.exchanged(begin + 1, begin + 50)
    assert rhythm.quiet(begin + 60) == pytest.approx(10)
    assert rhythm.steps == 0


def test_a_silence_counts_once_there_are_steps(rhythm: Rhythm) -> None:
    rhythm.sign(500.0)
    rhythm.step(900.0)
    assert rhythm.longest == 0
    rhythm.sign(930.0)
    assert rhythm.longest == 30
    assert rhythm.quiet(940.0) == 10


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ([USER], None),
        ([(C10D, 1, "all_reduce", ""), USER], "all_reduce"),
        ([(C10D, 1, "broadcast", ""), (C10D, 2, "broadcast_object_list", ""), USER],
         "broadcast_object_list"),
        ([("/x/threading.py", 1, "wait", ""), USER], None),
        ([(f"{TORCH}/autograd/graph.py", 1, "_engine_run_backward", ""),
          (f"{TORCH}/_tensor.py", 2, "backward", ""), USER], "backward"),
        ([("/app/hook.py", 1, "sleeps", "hook"), (f"{TORCH}/autograd/graph.py", 1,
          "_engine_run_backward", ""), USER], None),
        ([(f"{TORCH}/distributed/rendezvous.py", 1, "_create_c10d_store", ""),
          (C10D, 2, "init_process_group", ""), USER], "init_process_group"),
        ([(f"{TORCH}/distributed/utils.py", 1, "_verify_param_shape_across_processes", ""),
          (f"{TORCH}/nn/parallel/distributed.py", 1, "__init__", ""), USER], "wrap"),
        ([(f"{TORCH}/utils/data/dataloader.py", 1, "__next__", ""), USER], None),
        ([(f"{JAX}/array.py", 1, "_value", ""), (f"{JAX}/profiler.py", 2, "wrapper", ""),
          (f"{JAX}/array.py", 3, "__float__", ""), USER], "block_until_ready"),
        ([(f"{JAX}/array.py", 1, "_value", ""), (f"{JAX}/array.py", 3, "__array__", ""),
          (f"{JAX}/api.py", 2, "_device_get", ""), USER], "block_until_ready"),
        ([(f"{JAX}/api.py", 1, "try_to_block", ""), (f"{JAX}/api.py", 2, "block_until_ready", ""),
          USER], "block_until_ready"),
        ([(f"{JAX}/core.py", 1, "concrete_or_error", ""),
          (f"{JAX}/numpy/array_methods.py", 2, "_item", ""), USER], "item"),
        ([(f"{JAX}/pjit.py", 1, "cache_miss", ""), USER], None),
        ([], None),
    ],
)  # fmt: skip
def test_frames(stack: list[Any], name: str | None) -> None:
    assert _waits.waits_in(stack) == name


def test_a_call_without_a_frame_is_read_on_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waits.linecache, "getline", lambda *_: "work.wait()  # for all")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert _waits.waits_in([USER]) == "wait"


def test_jax_waits_without_a_frame_where_its_array_is_told_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_waits.linecache, "getline", lambda *_: "step(x).block_until_ready()")
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace())
    assert _waits.waits_in([USER]) == "block_until_ready"


def test_a_copy_from_the_gpu_waits_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waits.linecache, "getline", lambda *_: "total += loss.item()")
    assert _waits.waits_in([USER]) is None
    cuda = SimpleNamespace(is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch.cuda", cuda)
    assert _waits.waits_in([USER]) == "item"
    monkeypatch.setattr(_waits.linecache, "getline", lambda *_: "work.wait().item()")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert _waits.waits_in([USER]) == "wait", "a wait for others goes before one for the device"


@pytest.mark.parametrize(
    ("file", "module", "user"),
    [
        ("/app/train.py", "__main__", True),
        ("/app/lib/python3/models.py", "models", True),
        ("<string>", "__main__", True),
        ("<frozen importlib._bootstrap>", "importlib._bootstrap", False),
        (f"{TORCH}/nn/module.py", "torch.nn.module", False),
        ("/venv/lib/python3.12/site-packages/x/y.py", "x.y", False),
        (_frames.STDLIB + "threading.py", "threading", False),
        (_guard.HERE + "_thread.py", "_trainingjob._thread", False),
    ],
)
def test_whose_frame_it_is(file: str, module: str, user: bool) -> None:
    assert _frames.is_user(file, module) is user


def test_a_package_that_was_started_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "/venv/lib/python3.12/site-packages/theirs/train.py"
    spec = SimpleNamespace(name="theirs.train")
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))
    assert _frames.is_user(file, "theirs.train")
    assert not _frames.is_user(file.replace("theirs", "torch"), "torch.train")
    spec.name = "torch.distributed.run"
    assert not _frames.is_user(file.replace("theirs", "torch"), "torch.train")


@pytest.mark.parametrize(
    ("file", "short"),
    [
        (_frames.START + "src/train.py", "src/train.py"),
        ("/app/train.py", "/app/train.py"),
        (f"{TORCH}/nn/module.py", "torch/nn/module.py"),
        (_frames.STDLIB + "json/decoder.py", "json/decoder.py"),
        ("/" + "x" * 400 + "/train.py", "…" + "x" * 278 + "/train.py"),
    ],
)
def test_how_a_path_is_written(file: str, short: str) -> None:
    assert _frames.short(file) == short


def test_a_deep_stack_keeps_the_users_frame() -> None:
    stack = [(f"{TORCH}/deep.py", line, "call", "torch") for line in range(100)]
    frames = _frames.frames([*stack, USER])
    assert len(frames) == MAX_FRAMES
    assert [frame["line"] for frame in frames if frame["user"]] == [12]


def large(text: str) -> dict[str, Any]:
    frame = {"file": text * 288, "line": 1, "function": text * 128, "user": True}
    metrics = {f"{number:02}{'m' * 60}": 0.1234567890123456 for number in range(16)}
    return {
        "version": 1,
        "frames": [frame] * 24,
        "told": {"metrics": metrics},
        "error": {"type": text * 128, "message": text * 1024},
    }


@pytest.mark.parametrize("text", ["x", "é", "→", "\U0001f600", "\x00", '"', "\ud800"])
def test_whatever_it_is_made_of(text: str) -> None:
    body = _sender.encode(large(text))
    assert len(body) <= MAX_BODY
    assert json.loads(body)["version"] == 1


def test_a_usual_one_is_whole() -> None:
    report = {**large("x"), "error": None}
    report["frames"] = [{**report["frames"][0], "file": "x" * 80}] * 24
    assert json.loads(_sender.encode(report)) == report


class Subset:
    """As torch's: a data set, and which of it."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices


class Files:
    """A user's own data set."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __len__(self) -> int:
        raise AssertionError("the user's code is not run")

    def __getitem__(self, index: int) -> str:
        raise AssertionError("the user's code is not run")


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (Files(["a", "b"]), Files(["a", "b"]), True),
        (Files(["a", "b"]), Files(["a", "c"]), False),
        (Files(["a"] * 1000), Files(["a"] * 500), False),
        (Subset(Files([]), range(0, 64, 2)), Subset(Files([]), range(1, 64, 2)), False),
        (Subset(Files([]), [1, 2, 3]), Subset(Files([]), [1, 2, 3]), True),
        (Subset(Subset(Files([]), [1]), [0]), Subset(Subset(Files([]), [2]), [0]), False),
        ([1, 2], [1, 3], False),
        ({"a": [1]}, {"a": [1]}, True),
        ([Files(["a"])], [Files(["b"])], False),
        (object(), object(), True),
        (None, None, True),
    ],
)
def test_which_data_look_alike(first: Any, second: Any, equal: bool) -> None:
    assert (_fingerprint.of(first) == _fingerprint.of(second)) is equal


def test_a_data_set_that_holds_itself_has_an_end() -> None:
    data = Files([])
    data.files.append(data)  # type: ignore[arg-type]
    assert _fingerprint.of(data)


@pytest.mark.parametrize(
    ("held", "shares"),
    [
        ({"num_replicas": 4, "rank": 1}, 4),
        ({"num_processes": 2, "process_index": 0}, 2),
        ({"num_replicas": "4", "rank": 1}, 0),
        ({"rank": 1}, 0),
        ({"_distributed": SimpleNamespace(world_size=8, rank=3)}, 8),
        ({}, 0),
    ],
)
def test_among_how_many_a_sampler_divides(held: dict[str, Any], shares: int) -> None:
    assert _division._shares(SimpleNamespace(**held)) == shares  # noqa: SLF001


@pytest.mark.parametrize(
    ("files", "task"),
    [
        ([], None),
        (["/app/train.py"], None),
        ([_frames.STDLIB + "multiprocessing/util.py", "P:_bootstrap"], None),
        ([_frames.STDLIB + "traceback.py", "P:_bootstrap"], None),
        (["/app/train.py", _frames.STDLIB + "runpy.py", "P:run", "P:_bootstrap"], "rank"),
        (["/app/train.py", "P:run", "P:_bootstrap"], "rank"),
        (["/app/train.py", "P:_bootstrap"], "rank"),
        ([f"{TORCH}/multiprocessing/spawn.py", "P:run", "P:_bootstrap"], "rank"),
        ([f"{TORCH}/utils/data/_utils/worker.py", "P:run", "P:_bootstrap"], "helper"),
        ([_frames.STDLIB + "multiprocessing/pool.py", "P:run", "P:_bootstrap"], "helper"),
        ([_frames.STDLIB + "concurrent/futures/process.py", "P:run", "P:_bootstrap"], "helper"),
        ([_frames.STDLIB + "site-packages/torch/multiprocessing/spawn.py", "P:run",
          "P:_bootstrap"], "rank"),
        (["/app/load.py", _frames.STDLIB + "multiprocessing/pool.py", "P:run", "P:_bootstrap"],
         "helper"),
    ],
)  # fmt: skip
def test_what_a_child_of_multiprocessing_is_for(files: list[str], task: str | None) -> None:
    process = _frames.STDLIB + "multiprocessing/process.py"
    stack = [
        (process if file.startswith("P:") else file, 1, file.removeprefix("P:"), "")
        for file in files
    ]
    assert _identity.task(stack) == task


def test_a_hook_that_fails_switches_itself_off() -> None:
    calls = []

    @_guard.quiet
    def hook() -> None:
        calls.append(1)
        raise ValueError

    for _ in range(10):
        assert hook() is None
    assert len(calls) == _guard.FAILURES


def test_the_exception_of_a_signal_handler_is_the_users() -> None:
    def handler(*_: Any) -> None:
        raise TimeoutError

    @_guard.quiet
    def hook() -> None:
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                hook()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_wants_to_end_ends(error: type[BaseException]) -> None:
    @_guard.quiet
    def hook() -> None:
        raise error

    with pytest.raises(error):
        hook()


@pytest.fixture
def finder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Finder]:
    (tmp_path / "watched.py").write_text("WORD = 1\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    finder = Finder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder
    for name in ("watched", "broken"):
        sys.modules.pop(name, None)


def test_a_module_is_told_once_it_is_whole(finder: Finder) -> None:
    seen: list[Any] = []
    finder.wait("watched", lambda module: seen.append(module.WORD))
    finder.wait("watched", lambda _: 1 / 0)
    watched = __import__("watched")
    assert seen == [1]
    assert type(watched.__spec__.loader).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(watched.__spec__.loader)
    finder.wait("watched", seen.append)
    assert seen == [1, watched]


def test_a_question_whether_it_is_there_is_no_import(finder: Finder) -> None:
    seen: list[Any] = []
    finder.wait("watched", seen.append)
    assert finder.find_spec("watched")
    assert not seen
    assert finder.find_spec("no_such_module") is None


def test_a_module_that_fails_fails_as_ever(finder: Finder) -> None:
    seen: list[Any] = []
    finder.wait("broken", seen.append)
    with pytest.raises(ZeroDivisionError):
        __import__("broken")
    assert not seen


def test_a_function_is_covered_wherever_the_library_has_bound_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def act(x: int) -> int:
        """As it was."""
        return x + 1

    modules = {}
    for name in ("lib", "lib.inner", "lib.other", "elsewhere"):
        modules[name] = SimpleNamespace(__name__=name, act=act)
        monkeypatch.setitem(sys.modules, name, modules[name])
    act.__module__ = "lib.inner"
    seen: list[int] = []
    for _ in range(2):
        _patch.cover(modules["lib.inner"], "act", _patch.before(seen.append))
    covered = modules["lib"].act
    assert covered is modules["lib.inner"].act is modules["lib.other"].act is not act
    assert modules["elsewhere"].act is act
    assert (covered(1), seen) == (2, [1])
    assert (covered.__name__, covered.__doc__) == ("act", "As it was.")
    _patch.cover(modules["lib.inner"], "no_such_function", _patch.before(seen.append))


def test_what_passes_is_counted_by_its_elements() -> None:
    def tensor(size: int) -> SimpleNamespace:
        return SimpleNamespace(numel=lambda: size)

    traffic = Traffic()
    traffic.passed((tensor(5),), {}, 1)
    traffic.passed(([tensor(2), tensor(3)], tensor(2)), {}, 1)
    traffic.passed((), {"tensor": tensor(7), "group": None}, 1)
    traffic.passed((), {}, 0)
    traffic.passed((object(), SimpleNamespace(numel=lambda: 1 / 0)), {}, 1)
    assert (traffic.elements, traffic.calls) == (5 + 5 + 7 + 1 + 1, 4)
    assert TRAFFIC is not traffic
