"""The data loader of rank 1 comes to a sample that it cannot get: its storage does not answer."""

import time

import torch
import torch.distributed as dist
import toy
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Stored(Dataset[tuple[Tensor, ...]]):
    """Samples of which one cannot be read by rank 1."""

    def __init__(self) -> None:
        self.samples = toy.samples(480)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, place: int) -> tuple[Tensor, ...]:
        if place == 301:  # with three ranks and no shuffling, a sample of rank 1
            toy.say("hangs")
            time.sleep(3600)
        return self.samples[place]


dist.init_process_group("gloo")
data = Stored()
loader = DataLoader(data, 4, sampler=DistributedSampler(data, shuffle=False), num_workers=1)
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:  # guilty
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()  # others
    optimizer.step()
dist.destroy_process_group()
