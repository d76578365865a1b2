"""Each rank trains a model of its own: the wrapper was forgotten."""

import torch
import torch.distributed as dist
import toy
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
data = toy.samples()
sampler = DistributedSampler(data)
loader = DataLoader(data, 4, sampler=sampler)
model = toy.model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(15):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = toy.loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # guilty
    toy.say(f"epoch {epoch}")
dist.destroy_process_group()
