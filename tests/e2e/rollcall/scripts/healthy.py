"""Nothing is wrong here. In the end each rank says how long its longest step took."""

import time
from itertools import pairwise

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
data = toy.samples(1200)
sampler = DistributedSampler(data)
loader = DataLoader(data, 4, sampler=sampler)
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
sampler.set_epoch(0)
moments = []
for x, y in loader:
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    moments.append(time.monotonic())
longest = max(end - begin for begin, end in pairwise(moments[10:]))
toy.say(f"{len(moments)} steps, the longest {longest:.3f} s")
dist.destroy_process_group()
