"""Lesson 01 over MPI: mpirun starts the processes, and torch's MPI backend links them.

A process learns its rank from MPI itself, so init_process_group needs no address, no rank and no
world size. Data, model and losses are lesson 01's.

A rank that fails has to end at once: at an interpreter's ordinary end MPI waits for the other
ranks, and they wait for this one.
"""

import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]
LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))


def end_at_once(hook: Hook) -> Hook:
    """Say what was wrong as before, then leave without MPI's own end: mpirun ends the others."""

    def fail(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        hook(kind, error, trace)
        sys.stderr.flush()
        os._exit(1)

    return fail


def main() -> None:
    """Join the group, train, save once, say what came of it, leave the group."""
    dist.init_process_group("mpi")
    data, test = LESSON["digits"]()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    losses, seen = LESSON["train"](DistributedDataParallel(model), data)
    x, y = test.tensors
    report = {
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "accuracy": (model(x).argmax(1) == y).float().mean().item(),
        "losses": losses,
        "parameters_sha256": LESSON["digest"](model.state_dict()),
        "saved_sha256": LESSON["save"](model) if dist.get_rank() == 0 else None,
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.excepthook = end_at_once(sys.excepthook)
    main()
