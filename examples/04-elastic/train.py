"""A group that changes its size while it trains, and goes on from where it was.

Every size is an attempt of its own: all processes start anew, read the last checkpoint and
share the same global batch among as many ranks as there are now. So nothing is lost but
the epoch that was under way. The model and the data are those of lesson 01.
"""

import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))
CHECKPOINT = Path(os.environ.get("CHECKPOINT", "checkpoint.pt"))  # where every rank can read it
EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = 120
PAUSE = float(os.environ.get("PAUSE", "0"))  # seconds after each epoch: time to scale by hand


def save(state: dict[str, Any]) -> None:
    """Replace the last checkpoint in one step: a kill in the middle leaves the old one whole."""
    partial = CHECKPOINT.with_suffix(f".{os.environ['TRAININGJOB_ATTEMPT']}.partial")
    with partial.open("wb") as file:
        torch.save(state, file)
        os.fsync(file.fileno())
    partial.replace(CHECKPOINT)


def resume(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Go back to the last checkpoint, if there is one; the epoch that comes next."""
    if not CHECKPOINT.exists():
        return 0
    state = torch.load(CHECKPOINT, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["epoch"])


def main() -> None:
    """Train from the epoch that was reached to the last."""
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    first = resume(model, optimizer)
    sys.stdout.write(f"rank {rank} of {size} begins at epoch {first}\n")
    wrapped = DistributedDataParallel(model)
    data, test = LESSON["digits"]()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, GLOBAL_BATCH // size, sampler=sampler)
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for x, y, _ in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(wrapped(x), y).backward()
            optimizer.step()
        if rank == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save({**state, "epoch": epoch + 1})
            sys.stdout.write(f"epoch {epoch} done by {size} ranks\n")
        dist.barrier()
        time.sleep(PAUSE)
    right = (model(test.tensors[0]).argmax(1) == test.tensors[1]).float().mean()
    sys.stdout.write(f"rank {rank} of {size} ends with accuracy {right.item():.3f}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
