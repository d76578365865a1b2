"""The data of rank 1 come slowly: all ranks make steps, and wait for it in each of them."""

import time

import torch
import torch.distributed as dist
import toy
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Stored(Dataset[tuple[Tensor, ...]]):
    """Samples that rank 1 reads from a slow place."""

    def __init__(self) -> None:
        self.samples = toy.samples(480)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, place: int) -> tuple[Tensor, ...]:
        if dist.get_rank() == 1:
            time.sleep(0.2)  # slow
        return self.samples[place]


dist.init_process_group("gloo")
data = Stored()
loader = DataLoader(data, 4, sampler=DistributedSampler(data, shuffle=False))
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:  # guilty
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
