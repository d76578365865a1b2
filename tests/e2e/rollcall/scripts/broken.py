"""Rank 2 raises; the others, who wait for it, die of that a moment later."""

import time

import torch
import torch.distributed as dist
import toy
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def check(batch: Tensor) -> None:
    """Refuse what rank 2 has got."""
    if dist.get_rank() == 2:
        raise ValueError(f"label 10 of sample {len(batch)} is out of range")  # guilty


dist.init_process_group("gloo")
data = toy.samples()
loader = DataLoader(data, 4, sampler=DistributedSampler(data))
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (x, y) in enumerate(loader):
    if step == 10:
        check(y)
    try:
        toy.loss(model, x, y).backward()
    except RuntimeError:
        time.sleep(1)
        raise
    optimizer.step()
dist.destroy_process_group()
