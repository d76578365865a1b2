"""A model that is divided among the ranks: a pipeline of two stages.

Rank 0 has the first layer, rank 1 the second. A batch goes through in four parts, so that both
work at once. To the data they are one replica: every stage goes through the same batches. The
losses are those of lesson 01 in one process, whose model and data these are.
"""

import inspect
import json
import os
import runpy
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))
EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = 120
PARTS = 4  # of a batch: while rank 1 computes the first, rank 0 is at the second
STAGES = 2
AVERAGES = "scale_grads" in inspect.signature(ScheduleGPipe).parameters  # not in torch 2.6
OUTPUT = Path(os.environ.get("OUTPUT", "model.pt"))


def a_model() -> nn.Sequential:
    """The whole model of lesson 01; a real one would make its own stage alone."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def stages(model: nn.Sequential) -> tuple[nn.Sequential, ...]:
    """The layers of each rank."""
    return model[:2], model[2:]


def train(mine: nn.Module, data: TensorDataset) -> list[float]:
    """The loss of each epoch, known to the last stage; zeros on the others."""
    rank = dist.get_rank()
    stage = PipelineStage(mine, rank, STAGES, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, PARTS, loss_fn=nn.functional.cross_entropy)
    optimizer = torch.optim.SGD(mine.parameters(), lr=0.1, momentum=0.9)
    sampler = DistributedSampler(data, num_replicas=1, rank=0)  # one replica: all the data
    loader = DataLoader(data, GLOBAL_BATCH, sampler=sampler)
    losses = []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        total = 0.0
        for x, y, _ in loader:
            parts: list[torch.Tensor] = []
            optimizer.zero_grad()
            if stage.is_first:
                schedule.step(x)
            else:
                schedule.step(target=y, losses=parts)  # its input comes from the stage before
                total += torch.stack(parts).mean().item()
            average(mine)
            optimizer.step()
        losses.append(round(total / len(loader), 6))
    return losses


def average(mine: nn.Module) -> None:
    """Make the gradient of a batch from those of its parts, which are added up until here."""
    if not AVERAGES:
        for part in mine.parameters():
            part.grad /= PARTS


def save(mine: nn.Module, rank: int) -> None:
    """Bring all stages to rank 0, which writes them as one model, whole or not at all."""
    parts: list[dict[str, torch.Tensor]] = [{} for _ in range(STAGES)]
    dist.gather_object(mine.state_dict(), parts if rank == 0 else None)
    if rank == 0:
        model = a_model()
        for stage, state in zip(stages(model), parts, strict=True):
            stage.load_state_dict(state)
        partial = OUTPUT.with_suffix(".partial")
        torch.save(model.state_dict(), partial)
        partial.replace(OUTPUT)


def accuracy(test: TensorDataset) -> float:
    """How often the saved file is right: loaded into a model of one process."""
    model = a_model()
    model.load_state_dict(torch.load(OUTPUT, weights_only=True))
    x, y = test.tensors
    return (model(x).argmax(1) == y).float().mean().item()


def main() -> None:
    """Join the group, train a stage, save the whole, say what came of it, leave the group."""
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    if size != STAGES:
        sys.exit(f"this pipeline has {STAGES} stages, and there are {size} ranks")
    data, test = LESSON["digits"]()
    mine = stages(a_model())[rank]
    losses = train(mine, data)
    save(mine, rank)
    report = {
        "rank": rank,
        "world_size": size,
        "losses": losses if rank == size - 1 else None,
        "parameters": sum(part.numel() for part in a_model().parameters()),
        "parameters_held": sum(part.numel() for part in mine.parameters()),
        "saved_accuracy": accuracy(test) if rank == 0 else None,
    }
    sys.stdout.write(json.dumps(report) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
