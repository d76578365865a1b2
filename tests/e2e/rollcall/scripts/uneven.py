"""Rank 1 has fewer batches than the others: it is through with them and waits for the others."""

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
data = toy.samples(480)
share = range(rank, 360 if rank == 1 else 480, size)
loader = DataLoader(Subset(data, share), 4)
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()  # others
    optimizer.step()
toy.say("hangs")
dist.barrier()  # guilty
dist.destroy_process_group()
