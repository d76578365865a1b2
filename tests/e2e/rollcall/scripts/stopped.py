"""Rank 1 is stopped by a signal in the middle of its training, and says nothing any more."""

import subprocess
import time

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
data = toy.samples(2400)
sampler = DistributedSampler(data)
loader = DataLoader(data, 4, sampler=sampler)
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, (x, y) in enumerate(loader):  # the loop begins
    time.sleep(toy.PACE)
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()  # others
    optimizer.step()
    if step == 60 and dist.get_rank() == 1:
        toy.say("hangs")
        subprocess.run(["sh", "-c", "kill -STOP $PPID"], check=True)  # the loop ends
dist.destroy_process_group()
