"""Training that survives whatever is done to its ranks, and ends where it would have ended.

Every few steps rank 0 keeps a checkpoint. SIGTERM, which comes before an eviction, raises a flag
that all ranks add up in each step: so all stop after the same one, and lose nothing. A rank that
is killed costs the steps since the last checkpoint. The model and data are those of lesson 01.
"""

import io
import json
import os
import runpy
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import checkpoint  # noqa: E402  (it lies beside this file)

LESSON = runpy.run_path(str(HERE.with_name("01-ddp") / "train.py"))
FOLDER = Path(os.environ.get("CHECKPOINTS", "checkpoints"))  # where every rank can read it
EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = 120
EVERY = int(os.environ.get("EVERY", "5"))  # steps from one checkpoint to the next
PAUSE = float(os.environ.get("PAUSE", "0"))  # seconds after each step, and
SAVE_SECONDS = float(os.environ.get("SAVE_SECONDS", "0"))  # of a save: time to kill by hand
DIARY = "diary.jsonl"
STOPPED = 128 + signal.SIGTERM  # the exit code of a program that SIGTERM has ended


class Flag:
    """Whether this rank was told to stop."""

    def __init__(self) -> None:
        self.up = False
        signal.signal(signal.SIGTERM, self.raised)

    def raised(self, *_: object) -> None:
        """Note it, and go on to the end of the step."""
        self.up = True


class Training:
    """All that goes on after a restart: the model, its optimizer, the loss of each step."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.losses: list[float] = []

    def save(self) -> None:
        """Keep what is reached: on rank 0, while the others go on to the next exchange."""
        if dist.get_rank() == 0:
            sys.stdout.write(f"saving after {len(self.losses)} steps\n")
            file = io.BytesIO()
            torch.save(
                {
                    "model": self.model.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "losses": self.losses,
                },
                file,
            )
            steps = len(self.losses)
            checkpoint.write(FOLDER, steps, file.getvalue(), seconds=SAVE_SECONDS)

    def resume(self) -> None:
        """Go back to the last whole checkpoint; rank 0 reads it, so all have the same."""
        found = [checkpoint.read(FOLDER) if dist.get_rank() == 0 else None]
        dist.broadcast_object_list(found)
        if found[0] is not None:
            parts: dict[str, Any] = torch.load(io.BytesIO(found[0][1]), weights_only=True)
            self.model.load_state_dict(parts["model"])
            self.optimizer.load_state_dict(parts["optimizer"])
            self.losses = parts["losses"]


def batches(data: TensorDataset, first: int) -> Iterator[tuple[Tensor, ...]]:
    """This rank's share of every batch, from this step of the training on."""
    sampler = DistributedSampler(data)
    loader = DataLoader(data, GLOBAL_BATCH // dist.get_world_size(), sampler=sampler)
    for epoch in range(first // len(loader), EPOCHS):
        sampler.set_epoch(epoch)
        for number, batch in enumerate(loader, epoch * len(loader)):
            if number >= first:
                yield batch


def train(training: Training, data: TensorDataset, flag: Flag) -> bool:
    """Make the steps that are left; False when a rank was told to stop, and so all have."""
    wrapped = DistributedDataParallel(training.model)
    for x, y, _ in batches(data, len(training.losses)):
        loss = nn.functional.cross_entropy(wrapped(x), y)
        training.optimizer.zero_grad()
        loss.backward()
        training.optimizer.step()
        sums = torch.stack([loss.detach(), torch.tensor(float(flag.up))])
        dist.all_reduce(sums)  # one exchange for both: nobody decides alone to stop
        total, stops = sums.tolist()
        training.losses.append(total / dist.get_world_size())
        tell(step=len(training.losses))
        if stops or len(training.losses) % EVERY == 0:
            training.save()
        if stops:
            return False
        time.sleep(PAUSE)
    return True


def tell(**words: Any) -> None:
    """Note what this rank does where it outlives the pod: see what was done, and what twice."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    attempt = int(os.environ.get("TRAININGJOB_ATTEMPT", "1"))
    with (FOLDER / DIARY).open("a") as file:
        line = {"attempt": attempt, "rank": dist.get_rank(), **words}
        file.write(json.dumps(line) + "\n")


def diary() -> list[dict[str, Any]]:
    """All that the ranks of all attempts have noted; of the steps, those of rank 0."""
    lines = [json.loads(line) for line in (FOLDER / DIARY).read_text().splitlines()]
    return [line for line in lines if "step" not in line or line["rank"] == 0]


def main() -> None:
    """Train from the step that was kept to the last, or until a rank is told to stop."""
    flag = Flag()
    dist.init_process_group("gloo")
    data, test = LESSON["digits"]()
    training = Training()
    training.resume()
    there = sorted(path.name for path in FOLDER.glob("*"))
    dist.barrier()  # nobody writes before all have looked
    tell(begins=len(training.losses), there=there)
    sys.stdout.write(f"rank {dist.get_rank()} begins after {len(training.losses)} steps\n")
    if not train(training, data, flag):
        tell(stops=len(training.losses), told=flag.up)
        sys.stdout.write(f"rank {dist.get_rank()} stops after {len(training.losses)} steps\n")
        dist.destroy_process_group()
        sys.exit(STOPPED)
    x, y = test.tensors
    steps = torch.tensor(training.losses).reshape(EPOCHS, -1)
    report = {
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "losses": [round(loss, 6) for loss in steps.mean(1).tolist()],
        "accuracy": (training.model(x).argmax(1) == y).float().mean().item(),
        "parameters_sha256": LESSON["digest"](training.model.state_dict()),
    }
    report |= {"diary": diary()} if dist.get_rank() == 0 else {}
    sys.stdout.write(json.dumps(report) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
