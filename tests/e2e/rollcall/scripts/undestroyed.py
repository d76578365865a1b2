"""The process group is never left."""

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")  # guilty
data = toy.samples()
loader = DataLoader(data, 4, sampler=DistributedSampler(data))
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    loss = toy.loss(model, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
