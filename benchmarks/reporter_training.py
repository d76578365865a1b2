"""The training that `reporter.py` measures: it runs this file once for each rank."""

import importlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TURN = 32
"""Steps in a turn; the first one is left out, for what it finds has just been changed."""
LEARNING = 1024
"""Steps before all that: the reporter listens for a while to what begins."""
CUT = 2
"""Times the median: longer steps count as that."""


def steps(width: int) -> Callable[[int], list[tuple[int, int]]]:
    """A function that makes so many steps: nanoseconds of each, the thread's and the clock's."""
    torch = importlib.import_module("torch")
    data_tools = importlib.import_module("torch.utils.data")

    torch.manual_seed(0)
    world = int(os.environ["WORLD_SIZE"])
    sizes = [(width, width)] * (2 if world == 1 else 1) + [(width, 8)]
    layers = [part for size in sizes for part in (torch.nn.Linear(*size), torch.nn.ReLU())]
    model, sampler, batch = torch.nn.Sequential(*layers), None, 16
    data = data_tools.TensorDataset(torch.randn(1440, width), torch.randn(1440, 8))
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
        sampler, batch = data_tools.DistributedSampler(data), 120 // world
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = forever(data_tools.DataLoader(data, batch, sampler=sampler))

    def turn(count: int) -> list[tuple[int, int]]:
        taken = []
        for _ in range(count):
            own, began = time.thread_time_ns(), time.perf_counter_ns()
            x, y = next(batches)
            optimizer.zero_grad()
            (model(x) - y).pow(2).mean().backward()
            optimizer.step()
            taken.append((time.thread_time_ns() - own, time.perf_counter_ns() - began))
        return taken

    return turn


def forever(loader: Any) -> Iterator[Any]:
    """Epoch after epoch."""
    while True:
        yield from loader


def memory() -> float:
    """MB of this process alone."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def one_training(width: int, turns: int) -> dict[str, Any]:
    """Turns with and without the reporter; the ranks of a group draw the same order."""
    turn, chance = steps(width), random.Random(0)  # noqa: S311
    turn(LEARNING)
    switch = Switch()
    taken: dict[str, list[tuple[int, int]]] = {"with": [], "without": [], "again": []}
    for _ in range(turns):
        for name in chance.sample(list(taken), len(taken)):
            switch.turn(on=name == "with")
            taken[name] += turn(TURN)[1:]
    middle = statistics.median(own for own, _ in taken["without"])
    own = {
        name: statistics.fmean(min(step[0], CUT * middle) for step in rows) / 1e3
        for name, rows in taken.items()
    }
    passed = statistics.median(passed for _, passed in taken["without"]) / 1e3
    return {**own, "passed": passed, "report": one_report()}


def one_report() -> float:
    """CPU seconds of making and sending a report."""
    reporter = importlib.import_module("_trainingjob._thread").LINE.reporter
    taken = []
    for _ in range(50):
        began = time.thread_time()
        reporter._send()
        taken.append(time.thread_time() - began)
    return statistics.median(taken)


class Switch:
    """Puts the reporter's covers and hooks in place of the originals, and back."""

    def __init__(self) -> None:
        dataloader = importlib.import_module("torch.utils.data.dataloader")
        optimizer = importlib.import_module("torch.optim.optimizer")
        places = [
            (importlib.import_module("torch.autograd"), "backward"),
            (dataloader.DataLoader, "__iter__"),
            (dataloader._BaseDataLoaderIter, "__next__"),
        ]
        self.covers = [(place, name, vars(place)[name]) for place, name in places]
        both = (optimizer._global_optimizer_pre_hooks, optimizer._global_optimizer_post_hooks)
        self.hooks = [(hooks, dict(hooks)) for hooks in both]
        if not all(hasattr(cover, "__wrapped__") for _, _, cover in self.covers):
            raise SystemExit("the reporter is not at work here")

    def turn(self, *, on: bool) -> None:
        """On or off."""
        for place, name, cover in self.covers:
            # set also where it is there already: Python looks up anew what belongs to such a class
            setattr(place, name, cover if on else cover.__wrapped__)
        for hooks, ours in self.hooks:
            hooks.clear()
            hooks.update(ours if on else {})


def only_memory(width: int) -> dict[str, Any]:
    """Some seconds of training, whoever watches."""
    turn = steps(width)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        turn(TURN)
    return {"memory": memory()}


if __name__ == "__main__":
    chosen_width, chosen_turns = map(int, sys.argv[1:])
    made = one_training(chosen_width, chosen_turns) if chosen_turns else only_memory(chosen_width)
    print(json.dumps(made))
