"""Rank 1 leaves out a collective that the others are in, and waits for them in the next one."""

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
data = toy.samples(480)
loader = DataLoader(data, 4, sampler=DistributedSampler(data))
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (x, y) in enumerate(loader):
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 30:
        toy.say("hangs")
        if dist.get_rank() != 1:  # "the loss is only for the log"
            dist.all_reduce(loss.detach())  # others
        dist.barrier()  # guilty
dist.destroy_process_group()
