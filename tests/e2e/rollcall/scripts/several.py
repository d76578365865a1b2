"""Two processes in each of two instances, by torchrun or by this script itself; rank 3 hangs."""

import os
import time

import torch
import torch.distributed as dist
import toy
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train() -> None:
    """Be one process of the group."""
    dist.init_process_group("gloo")
    data = toy.samples()
    loader = DataLoader(data, 4, sampler=DistributedSampler(data))
    model = DistributedDataParallel(toy.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (x, y) in enumerate(loader):
        if step == 12 and dist.get_rank() == 3:
            toy.say("hangs")
            time.sleep(3600)  # guilty
        loss = toy.loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()  # others
        optimizer.step()
    dist.destroy_process_group()


def spawned(place: int, first: int) -> None:
    """Be the process at this place of the instance."""
    os.environ["RANK"] = str(first + place)
    train()


if __name__ == "__main__":
    if "TORCHELASTIC_RUN_ID" in os.environ:
        train()
    else:
        processes = int(os.environ["LOCAL_WORLD_SIZE"])
        multiprocessing.spawn(spawned, (int(os.environ["RANK"]),), nprocs=processes)
