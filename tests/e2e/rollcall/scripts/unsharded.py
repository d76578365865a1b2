"""All ranks train on all data: the sampler was forgotten."""

import torch
import torch.distributed as dist
import toy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
loader = DataLoader(toy.samples(), 4, shuffle=True)
model = DistributedDataParallel(toy.model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(5):
    for x, y in loader:  # guilty
        loss = toy.loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    toy.say(f"epoch {epoch}")
dist.destroy_process_group()
