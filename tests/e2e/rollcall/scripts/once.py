"""Rank 2 hangs in the first attempt; the second goes through."""

import os
import time

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

FIRST = os.environ["TRAININGJOB_ATTEMPT"] == "1"

dist.init_process_group("gloo")
data = toy.samples()
loader = DataLoader(data, 4, sampler=DistributedSampler(data))
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (x, y) in enumerate(loader):
    if FIRST and step == 15 and dist.get_rank() == 2:
        toy.say("hangs")
        time.sleep(3600)  # guilty
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()  # others
    optimizer.step()
dist.destroy_process_group()
