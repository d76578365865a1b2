"""Rank 0 evaluates for long, at work, while the others wait: all is well."""

import sys
import time

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import trainingjob

SECONDS = float(sys.argv[1])

dist.init_process_group("gloo")
data = toy.samples()
sampler = DistributedSampler(data)
loader = DataLoader(data, 4, sampler=sampler)
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
steps = 0
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = toy.loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        trainingjob.report(step=steps, total=2 * len(loader), loss=loss.item())
    if epoch == 0 and dist.get_rank() == 0:
        toy.say("evaluates")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            model.module(torch.randn(64, 8))
        toy.say("has evaluated")
    dist.barrier()
dist.destroy_process_group()
