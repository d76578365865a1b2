"""What is told of real training: real torch, real process groups on this machine.

They need a Python with torch (see `interpreters`), so they run with the tests that have the
trainer image: `make e2e`.
"""

import itertools
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from reporter.collector import Answering, Collector
from reporter.pods import Pod, end, free_port
from trainingjobs.model.report import Exchange, Report, Stage

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

STAGES = list(Stage)

PARTS = """
    import os, sys, time
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
    RANK = int(os.environ.get("RANK", 0))
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
"""
TRAINS = (
    PARTS
    + """
    dist.init_process_group("gloo")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 4, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            time.sleep(0.02)
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()
"""
)


def line(text: str, words: str) -> str:
    """`train.py:9`: the line of the script that has these words."""
    lines = text.strip("\n").splitlines()
    return f"train.py:{next(number for number, row in enumerate(lines, 1) if words in row)}"


def at(rank: int, stage: Stage) -> Callable[[Report], bool]:
    return lambda report: report.rank == rank and report.stage is stage


def all_end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        code, out, err = end(process)
        assert (code, out) == (0, ""), err


def test_the_stages_come_in_order_with_their_lines(torch_pod: Pod, operator: Collector) -> None:
    all_end(torch_pod.group(TRAINS))
    for rank in range(2):
        reports = operator.of(rank)
        stages = [STAGES.index(report.stage) for report in reports]
        assert stages == sorted(stages)
        last = reports[-1]
        assert (last.stage, last.steps, last.destroyed) == (Stage.ENDED, 24, True)
        lines = last.lines
        assert lines.init == line(TRAINS, "init_process_group")
        assert lines.sampler == line(TRAINS, "DistributedSampler(data)")
        assert lines.loader == line(TRAINS, "in loader")
        assert lines.wrap == line(TRAINS, "DistributedDataParallel(")
        assert lines.step == line(TRAINS, "optimizer.step")
        assert lines.destroy == line(TRAINS, "destroy_process_group")
        assert (last.data.sampler, last.data.samples, last.data.shuffle) == (
            "distributed",
            32,
            True,
        )
        assert (last.data.epochs, last.data.epoch_set) == (3, True)
        assert (last.model.wrapper, last.model.exchange) == (
            "DistributedDataParallel",
            Exchange.WRAPPED,
        )
        assert last.model.parameters == 5
        assert last.own_seconds
        assert last.own_seconds >= 0.02
        assert last.world_size == 2
    first, second = (operator.of(rank)[-1].data.fingerprint for rank in range(2))
    assert first == second


def test_a_rank_that_has_not_come_is_at_its_line(torch_pod: Pod, operator: Collector) -> None:
    script = (
        PARTS
        + """
    if RANK == 1:
        time.sleep(1000)
    dist.init_process_group("gloo")
    """
    )
    torch_pod.group(script)
    here = operator.wait(lambda report: at(0, Stage.JOINING)(report) and report.waits_in)
    assert here.waits_in == "init_process_group"
    assert here.lines.init == line(script, "init_process_group")
    away = operator.wait(at(1, Stage.SPAWNED))
    assert away.frames[0].user
    assert f"train.py:{away.frames[0].line}" == line(script, "sleep(1000)")
    assert away.waits_in is None


def test_a_collective_that_one_skips(torch_pod: Pod, operator: Collector) -> None:
    script = (
        PARTS
        + """
    dist.init_process_group("gloo")
    dist.barrier()
    if RANK == 0:
        dist.all_reduce(torch.ones(3))
    while True:
        time.sleep(0.1)
    """
    )
    torch_pod.group(script)
    victim = operator.wait(
        lambda report: (report.rank, report.waits_in, report.sequence) == (0, "all_reduce", 2)
    )
    guilty = operator.wait(
        lambda report: (
            at(1, Stage.JOINED)(report) and report.sequence == 1 and report.waits_in is None
        )
    )
    user = next(frame for frame in victim.frames if frame.user)
    assert f"train.py:{user.line}" == line(script, "all_reduce")
    assert f"train.py:{guilty.frames[0].line}" == line(script, "sleep(0.1)")


def test_others_wait_in_backward_for_one_that_sleeps(torch_pod: Pod, operator: Collector) -> None:
    script = TRAINS.replace("time.sleep(0.02)", "time.sleep(1000 if RANK and epoch else 0)")
    torch_pod.group(script)
    victim = operator.wait(
        lambda report: (
            report.rank == 0 and report.waits_in == "backward" and report.quiet_seconds > 1
        )
    )
    user = next(frame for frame in victim.frames if frame.user)
    assert f"train.py:{user.line}" == line(script, "loss.backward()")
    guilty = operator.wait(
        lambda report: (
            report.rank == 1 and report.quiet_seconds > 1 and report.steps == victim.steps
        )
    )
    assert f"train.py:{guilty.frames[0].line}" == line(script, "time.sleep")


def test_others_wait_for_one_that_does_not_wrap(torch_pod: Pod, operator: Collector) -> None:
    script = TRAINS.replace("    model = D", "    time.sleep(1000 if RANK else 0)\n    model = D")
    torch_pod.group(script)
    # a report that was begun before the stage changed may have the stack of after
    operator.wait(lambda report: at(0, Stage.WRAPPED)(report) and report.waits_in == "wrap")


def test_a_stopped_process_is_silent(torch_pod: Pod, operator: Collector) -> None:
    script = TRAINS.replace("range(3)", "range(10_000)")
    processes = torch_pod.group(script)
    for rank in range(2):
        operator.wait(at(rank, Stage.STEPPING))
    os.kill(processes[1].pid, signal.SIGSTOP)
    before = len(operator.of(0))
    with operator.news:
        assert operator.news.wait_for(lambda: len(operator.of(0)) >= before + 4, 60)
    assert operator.heard[-1].report.rank == 0
    assert operator.heard[-2].report.rank == 0
    os.kill(processes[1].pid, signal.SIGCONT)
    heard = len(operator.of(1))
    with operator.news:
        assert operator.news.wait_for(lambda: len(operator.of(1)) > heard, 60)


def test_a_slow_data_loader_is_seen_as_such(torch_pod: Pod, operator: Collector) -> None:
    script = (
        PARTS
        + """
    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 64
        def __getitem__(self, index):
            time.sleep(0.02 if RANK else 0)
            return data[index]
    dist.init_process_group("gloo")
    sampler = DistributedSampler(Slow())
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in DataLoader(sampler.dataset, 4, sampler=sampler):
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()
    dist.destroy_process_group()
    """
    )
    all_end(torch_pod.group(script))
    quick, slow = (operator.of(rank)[-1] for rank in range(2))
    assert slow.data_seconds
    assert slow.own_seconds
    assert slow.own_seconds >= slow.data_seconds >= 0.08
    assert (quick.data_seconds or 0) < slow.data_seconds / 2
    assert (quick.own_seconds or 0) < slow.own_seconds / 2
    assert (slow.data.epochs, slow.data.epoch_set) == (2, False)


BY_HAND = (
    PARTS
    + """
    import trainingjob
    from torch import multiprocessing

    def nothing(model): pass
    def loss(model): dist.all_reduce(torch.ones(1))
    def each(model): [dist.all_reduce(p.grad) for p in model.parameters()]
    def whole(model): dist.all_reduce(torch.cat([p.grad.flatten() for p in model.parameters()]))
    def unseen(model):
        dist.distributed_c10d._get_default_group().allreduce([torch.ones(9)]).wait()

    def run(rank, exchange, seed):
        torch.manual_seed(seed * rank)
        dist.init_process_group("gloo", "file:///tmp/STORE" + exchange, rank=rank, world_size=2)
        trainingjob.report(**{exchange: 1})
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            for x, y in DataLoader(data, 4, shuffle=True, generator=torch.Generator()):
                (model(x) - y).pow(2).mean().backward()
                globals()[exchange](model)
                optimizer.step()
        time.sleep(2)
        dist.destroy_process_group()

    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)  # once, before the forks
    for seed, exchange in enumerate(["nothing", "loss", "each", "whole", "unseen"]):
        multiprocessing.start_processes(run, (exchange, seed % 2), 2, start_method="fork")
    """
)


def test_what_is_exchanged_by_hand_and_whether_replicas_differ(
    torch_pod: Pod, operator: Collector
) -> None:
    torch_pod.script(BY_HAND.replace("STORE", torch_pod.folder.name + str(os.getpid())))
    process = torch_pod.start(TRAININGJOB_CHECKSUM_STEPS="10")
    assert end(process)[0] == 0
    wanted = {
        "nothing": Exchange.NONE,
        "loss": Exchange.LITTLE,
        "each": Exchange.MUCH,
        "whole": Exchange.MUCH,
        "unseen": Exchange.UNKNOWN,
    }
    for number, (name, exchange) in enumerate(wanted.items()):
        said = [
            operator.wait(
                lambda report, name=name, rank=rank: (
                    report.rank == rank
                    and name in report.told.metrics
                    and report.steps == 48
                    and report.stage is Stage.STEPPING
                )
            )
            for rank in range(2)
        ]
        for report in said:
            assert report.model.exchange is exchange, name
            assert (report.model.wrapper, report.model.parameters) == (None, 5)
            assert (report.data.sampler, report.data.samples) == ("default", 64)
            assert report.lines.wrap is None
            assert report.checksum
            assert report.checksum.step == 40
        values = {report.checksum.value for report in said if report.checksum}
        assert len(values) == 1 + number % 2, name


def test_a_group_that_is_not_destroyed(torch_pod: Pod, operator: Collector) -> None:
    all_end(torch_pod.group(PARTS + "    dist.init_process_group('gloo')\n    dist.barrier()\n"))
    for rank in range(2):
        last = operator.of(rank)[-1]
        assert (last.stage, last.destroyed, last.lines.destroy) == (Stage.ENDED, False, None)


def test_an_exception_and_its_victims(torch_pod: Pod, operator: Collector) -> None:
    script = TRAINS.replace("time.sleep(0.02)", "assert not (RANK and epoch), 'broken'")
    processes = torch_pod.group(script)
    assert [end(process)[0] for process in processes] == [1, 1]
    error = operator.of(1)[-1].error
    assert error
    assert error.frame
    assert (error.type, error.message) == ("AssertionError", "broken")
    assert f"train.py:{error.frame.line}" == line(script, "broken")
    victim = operator.of(0)[-1].error
    assert victim
    assert victim.frame
    assert victim.frame.user


def test_torchs_rpc_is_a_group(torch_pod: Pod, operator: Collector) -> None:
    script = (
        PARTS
        + """
    from torch.distributed import rpc
    rpc.init_rpc(f"rank{RANK}", rank=RANK, world_size=2)
    if RANK:
        time.sleep(3)
    rpc.shutdown()
    """
    )
    processes = torch_pod.group(script)
    server = operator.wait(lambda report: report.rank == 0 and report.waits_in == "shutdown")
    assert server.stage is Stage.JOINED
    for process in processes:
        code, _, err = end(process)
        assert code == 0, err
    for rank in range(2):
        reports = operator.of(rank)
        assert Stage.JOINED in {report.stage for report in reports}
        assert (reports[-1].stage, reports[-1].destroyed) == (Stage.ENDED, True)
        assert reports[-1].lines.init == line(script, "rpc.init_rpc")


def test_torchruns_children_are_ranks_and_its_agent_a_launcher(
    torch_pod: Pod, operator: Collector
) -> None:
    torch_pod.script(TRAINS)
    process = torch_pod.start(
        "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1",
        f"--master-port={free_port()}", "train.py", RANK="0", WORLD_SIZE="2",
    )  # fmt: skip
    agent = operator.wait(lambda report: report.launcher)
    assert end(process)[0] == 0
    assert (agent.rank, agent.pid) == (None, process.pid)
    for rank in range(2):
        last = operator.of(rank)[-1]
        assert (last.stage, last.steps, last.parent) == (Stage.ENDED, 24, process.pid)
        assert not last.launcher


SPAWNS = """
    import os, time
    import torch.multiprocessing
    import trained

    def run(local):
        os.environ["RANK"] = str(local)
        if WAIT:
            time.sleep(1000)
        trained.main()

    WAIT = False
    if __name__ == "__main__":
        torch.multiprocessing.START
"""


@pytest.mark.parametrize(
    "start", ["spawn(run, nprocs=2)", "start_processes(run, nprocs=2, start_method='fork')"]
)
def test_children_of_multiprocessing_are_ranks_once_they_join(
    torch_pod: Pod, operator: Collector, start: str
) -> None:
    script = "def main():\n" + TRAINS.replace("\n    ", "\n        ").replace(
        'RANK = int(os.environ.get("RANK", 0))', ""
    )
    torch_pod.script(script, "trained.py")
    torch_pod.script(SPAWNS.replace("START", start))
    process = torch_pod.start(
        RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port())
    )
    assert end(process)[::2] == (0, "")
    for rank in range(2):
        last = operator.of(rank)[-1]
        assert (last.stage, last.steps) == (Stage.ENDED, 24)
        assert (last.parent, last.launcher, last.world_size) == (process.pid, False, 2)
        init = line(script, "init_process_group").replace("train.py", "trained.py")
        assert last.lines.init == init


def test_a_spawned_child_that_does_not_join_is_there_without_a_rank(
    torch_pod: Pod, operator: Collector
) -> None:
    torch_pod.script("def main(): pass", "trained.py")
    torch_pod.script(SPAWNS.replace("START", "spawn(run, nprocs=2)").replace("False", "True"))
    process = torch_pod.start(RANK="0", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    child = operator.wait(lambda report: report.parent == process.pid)
    assert (child.rank, child.stage) == (None, Stage.SPAWNED)
    assert any(frame.file == "train.py" and frame.function == "run" for frame in child.frames)
    parent = operator.wait(lambda report: report.launcher)
    assert (parent.pid, parent.rank) == (process.pid, None)


def test_an_exception_in_a_spawned_child(torch_pod: Pod, operator: Collector) -> None:
    torch_pod.script("import torch\ndef main():\n    raise KeyError('lost')\n", "trained.py")
    torch_pod.script(SPAWNS.replace("START", "spawn(run, nprocs=1)"))
    assert end(torch_pod.start())[0] == 1
    told = operator.wait(lambda report: report.error and not report.launcher)
    assert told.error
    assert told.error.frame
    assert (told.error.type, told.error.frame.file, told.error.frame.line) == (
        "KeyError", "trained.py", 3,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_data_loader_say_nothing(
    torch_pod: Pod, operator: Collector, method: str
) -> None:
    torch_pod.script(
        """
        import time
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, index):
                time.sleep(0.5)
                return torch.ones(1) * index

        if __name__ == "__main__":
            context = "METHOD"
            loader = DataLoader(Numbers(), 1, num_workers=2, multiprocessing_context=context)
            print(sum(float(batch) for batch in loader))
            time.sleep(1)
    """.replace("METHOD", method)
    )
    process = torch_pod.start()
    assert end(process) == (0, "28.0\n", "")
    assert {heard.report.pid for heard in operator.heard} == {process.pid}


def test_nothing_of_ours_shows(torch_pod: Pod, operator: Collector) -> None:
    """The same output, errors and code, traceback and all, with and without us."""
    script = (
        PARTS
        + """
    dist.init_process_group("gloo", world_size=1, rank=0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    print(sum(p.sum() for p in model.parameters()).item())
    for x, y in DataLoader(data, 32):
        loss = model(x).sum()
        loss.backward()
        print(loss.item(), torch.randn(1).item())
    try:
        dist.all_reduce("no tensor")
    except TypeError as error:
        print(type(error).__name__)
    model(torch.ones(1)).backward()
    """
    )
    torch_pod.script(script)
    extra = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ours = end(torch_pod.start(**extra))
    assert operator.heard[-1].report.error
    assert ours == end(torch_pod.start(**extra, PYTHONPATH="/"))
    assert ours[0] == 1
    assert "Traceback" in ours[2]


def test_an_operator_that_hangs_does_not_slow_training(torch_pod: Pod, operator: Collector) -> None:
    operator.answering = Answering(delay=1000)
    script = (
        PARTS
        + """
    dist.init_process_group("gloo", world_size=1, rank=0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    longest = 0
    for step in range(300):
        began = time.monotonic()
        for x, y in DataLoader(data, 64):
            model(x).sum().backward()
            optimizer.step()
        longest = max(longest, (time.monotonic() - began) * (step > 3))
        time.sleep(0.01)
    print(longest < 1)
    """
    )
    torch_pod.script(script)
    process = torch_pod.start(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    code, out, _ = end(process)
    assert (code, out) == (0, "True\n")
    assert operator.tries


def test_every_wrapper_is_known(torch_pod: Pod) -> None:
    script = (
        PARTS
        + """
    import importlib
    dist.init_process_group("gloo", world_size=1, rank=0)
    from _trainingjob._standing import ME
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.distributed.device_mesh import init_device_mesh
    def linear():
        return torch.nn.Linear(4, 4)
    def known(act):
        ME.now.wrapper = None
        try:
            act()
        except Exception as error:
            print(repr(error), file=sys.stderr)
        return ME.now.wrapper
    print(known(lambda: DistributedDataParallel(linear())))
    print(known(lambda: ZeroRedundancyOptimizer(linear().parameters(), torch.optim.SGD, lr=0.1)))
    print(known(lambda: FullyShardedDataParallel(linear(), device_id=torch.device("cpu"))))
    if hasattr(torch.distributed.fsdp, "fully_shard"):
        print(known(lambda: torch.distributed.fsdp.fully_shard(linear())))
    """
    )
    torch_pod.script(script)
    process = torch_pod.start(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    code, out, err = end(process)
    assert (code, out.split()) == (
        0,
        ["DistributedDataParallel", "ZeroRedundancyOptimizer", "FullyShardedDataParallel",
         "fully_shard"],
    ), err  # fmt: skip


def test_what_is_covered_stays_what_it_was(torch_pod: Pod) -> None:
    """Signatures, pickling, copies, subclasses, imports by name, torch.compile."""
    torch_pod.script(
        PARTS
        + """
    import copy, inspect, pickle
    from torch.distributed import all_reduce, init_process_group
    assert init_process_group is dist.init_process_group is dist.distributed_c10d.init_process_group
    assert init_process_group.__trainingjob__
    assert torch.distributed.device_mesh.init_process_group is init_process_group
    assert list(inspect.signature(init_process_group).parameters)[0] == "backend"
    assert list(inspect.signature(DistributedDataParallel).parameters)[0] == "module"
    assert pickle.loads(pickle.dumps(all_reduce)) is all_reduce
    init_process_group("gloo", world_size=1, rank=0)
    class Mine(DistributedSampler):
        def __init__(self, data):
            super().__init__(data, num_replicas=2, rank=0)
    loader = DataLoader(data, 4, sampler=Mine(data))
    again = pickle.loads(pickle.dumps(loader.sampler))
    assert list(again) == list(loader.sampler) and isinstance(again, DistributedSampler)
    assert len(list(pickle.loads(pickle.dumps(DataLoader(data, 4))))) == 16
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    assert isinstance(copy.deepcopy(model), DistributedDataParallel)
    compiled = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend="eager")
    for x, y in loader:
        compiled(x).sum().backward()
        step()
    @torch.compile(backend="eager", fullgraph=True)
    def total(x):
        all_reduce(x)
        return x * 2
    assert total(torch.ones(2)).tolist() == [2.0, 2.0]
    print("all")
    """
    )
    process = torch_pod.start(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    code, out, err = end(process)
    assert (code, out) == (0, "all\n"), err


SAMPLERS = {
    "DataLoader(data, 4)": "default",
    "DataLoader(data, 4, shuffle=True)": "default",
    "DataLoader(data, 4, sampler=DistributedSampler(data, 2, 0))": "distributed",
    "DataLoader(data, 4, sampler=DistributedSampler(data, 1, 0))": "default",
    "DataLoader(data, batch_sampler=Shard(None, 2, 0))": "distributed",
    "DataLoader(data, batch_sampler=Shard(None, 1, 0))": "custom",
    "DataLoader(data, batch_sampler=Wrapping(DistributedSampler(data, 2, 1)))": "distributed",
    "DataLoader(data, batch_sampler=Wrapping(None))": "custom",
    "DataLoader(data, 4, sampler=torch.utils.data.SubsetRandomSampler([1, 2]))": "custom",
    "DataLoader(Stream(), 4)": "iterable",
}


def test_whose_sampler_it_is(torch_pod: Pod) -> None:
    script = (
        PARTS
        + """
    from _trainingjob._data import DATA
    class Shard:
        def __init__(self, batch_sampler, num_processes, process_index):
            self.num_processes, self.process_index = num_processes, process_index
            self.batch_sampler, self.batch_size = batch_sampler, 4
        def __iter__(self):
            return iter([[1, 2]])
        def __len__(self):
            return 1
    class Wrapping:
        def __init__(self, sampler):
            self.sampler = sampler
        def __iter__(self):
            return iter([[1, 2]])
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(8))
    for loader in sys.argv[1:]:
        DATA.__init__()
        for _ in eval(loader):
            pass
        print(DATA.told()["sampler"])
    """
    )
    torch_pod.script(script)
    code, out, err = end(torch_pod.start("train.py", *SAMPLERS))
    assert (code, out.split()) == (0, list(SAMPLERS.values())), err


def test_each_life_of_a_group_has_its_stages(torch_pod: Pod, operator: Collector) -> None:
    operator.answering = Answering(body=b'{"interval": 1}')
    script = (
        PARTS
        + """
    def hold():
        time.sleep(1.5)
    sampler = DistributedSampler(data, 1, 0)
    for port in (0, 1):
        store = f"file:///tmp/group-{os.getpid()}-{port}"
        dist.init_process_group("gloo", store, rank=0, world_size=1)
        hold()
        dist.destroy_process_group()
        hold()
    """
    )
    torch_pod.script(script)
    assert end(torch_pod.start())[0] == 0
    stages = [stage.value for stage, _ in itertools.groupby(h.report.stage for h in operator.heard)]
    seen = [stage for stage in stages if stage in {"sharded", "joined", "left", "ended"}]
    assert seen == ["sharded", "left", "joined", "left", "ended"]


def places(report: Report) -> list[Any]:
    return [(frame.file, frame.user) for frame in report.frames]


def test_frames_name_libraries_shortly(torch_pod: Pod, operator: Collector) -> None:
    torch_pod.script(PARTS + "    import threading\n    threading.Event().wait(1000)\n")
    torch_pod.start()
    told = operator.wait(lambda report: report.frames and report.frames[0].function == "wait")
    assert ("threading.py", False) in places(told)
    assert places(told)[-1] == ("train.py", True)
