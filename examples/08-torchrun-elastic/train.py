"""A process falls, and torchrun makes the group anew: what is lost is counted, and nothing else.

torchrun starts its processes again, in the same pods, and lets all meet once more (c10d
rendezvous). They go on from the last checkpoint; the steps done since then are done twice. The
model and the data are those of lesson 01.
"""

import json
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
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))
CHECKPOINT = Path(os.environ.get("CHECKPOINT", "checkpoint.pt"))  # where every rank can read it
EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = 120
EVERY = 5  # steps from one checkpoint to the next: as many can be lost, and no more
PAUSE = float(os.environ.get("PAUSE", "0"))  # seconds after each step: time to kill by hand
RESTARTS = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


class Training:
    """All that goes on after a restart: the model, its optimizer, the losses, the steps done."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.losses: list[float] = []  # of each step

    def save(self) -> None:
        """Replace the last checkpoint in one step."""
        partial = CHECKPOINT.with_suffix(".partial")
        parts: dict[str, Any] = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "losses": self.losses,
        }
        with partial.open("wb") as file:
            torch.save(parts, file)
            os.fsync(file.fileno())
        partial.replace(CHECKPOINT)

    def resume(self) -> None:
        """Go back to the last checkpoint, if there is one."""
        if CHECKPOINT.exists():
            parts = torch.load(CHECKPOINT, weights_only=True)
            self.model.load_state_dict(parts["model"])
            self.optimizer.load_state_dict(parts["optimizer"])
            self.losses = parts["losses"]


def batches(data: TensorDataset, first: int) -> Any:
    """This rank's share of every batch, from this step of the training on."""
    sampler = DistributedSampler(data)
    loader = DataLoader(data, GLOBAL_BATCH // dist.get_world_size(), sampler=sampler)
    for epoch in range(first // len(loader), EPOCHS):
        sampler.set_epoch(epoch)
        for number, batch in enumerate(loader, epoch * len(loader)):
            if number >= first:
                yield number, batch


def train(training: Training, data: TensorDataset) -> None:
    """Make all steps that are left, and say each."""
    wrapped = DistributedDataParallel(training.model)
    for number, (x, y, _) in batches(data, len(training.losses)):
        loss = nn.functional.cross_entropy(wrapped(x), y)
        training.optimizer.zero_grad()
        loss.backward()
        training.optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        training.losses.append(total.item() / dist.get_world_size())
        if dist.get_rank() == 0:
            sys.stdout.write(f"step {number} done after {RESTARTS} restarts\n")
            if (number + 1) % EVERY == 0:
                training.save()
        time.sleep(PAUSE)


def main() -> None:
    """Train from the step that was saved to the last, and say what came of it."""
    dist.init_process_group("gloo")
    data, test = LESSON["digits"]()
    training = Training()
    training.resume()
    first = len(training.losses)
    sys.stdout.write(f"rank {dist.get_rank()} begins at step {first} after {RESTARTS} restarts\n")
    train(training, data)
    x, y = test.tensors
    each = len(training.losses) // EPOCHS
    steps = torch.tensor(training.losses).reshape(EPOCHS, each)
    report = {
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "restarts": RESTARTS,
        "first": first,
        "losses": [round(loss, 6) for loss in steps.mean(1).tolist()],
        "accuracy": (training.model(x).argmax(1) == y).float().mean().item(),
        "parameters_sha256": LESSON["digest"](training.model.state_dict()),
    }
    sys.stdout.write(json.dumps(report) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
