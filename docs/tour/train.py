"""A small model on all ranks; HANG_RANK says which of them never gets a batch, half way through."""

import os
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

STEPS = int(os.environ.get("STEPS", "80"))


def next_batch(step: int) -> tuple[Tensor, Tensor]:
    """Some numbers, and what they sum up to."""
    if step == STEPS // 2 and os.environ.get("HANG_RANK") == os.environ["RANK"]:
        time.sleep(100_000)  # a disk that does not answer
    time.sleep(0.05)
    x = torch.randn(32, 8)
    return x, x.sum(dim=1, keepdim=True)


def main() -> None:
    """Train; rank 0 tells how far it is."""
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        x, y = next_batch(step)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0 and step % 20 == 0:
            print(f"step {step} of {STEPS}: loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
