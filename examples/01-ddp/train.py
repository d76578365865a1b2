"""Distributed data-parallel training done right, on 1,797 real handwritten digits.

Every process of the group runs this file; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in
its environment say which one it is. More processes share the same global batch, so the
losses are those of one process alone.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = int(os.environ.get("GLOBAL_BATCH", "120"))  # of all ranks together
OUTPUT = Path(os.environ.get("OUTPUT", "model.pt"))
TRAIN_SIZE = 1440  # divides by 1, 2, 3, 4, 5, 6 and 8: no rank has to repeat a sample


def digits() -> tuple[TensorDataset, TensorDataset]:
    """The samples to train on, each with its number, and the samples to test with."""
    pixels, labels = load_digits(return_X_y=True)
    split = train_test_split(pixels / 16, labels, train_size=TRAIN_SIZE, random_state=0)
    x, x_test = (torch.tensor(part, dtype=torch.float32) for part in split[:2])
    y, y_test = (torch.tensor(part) for part in split[2:])
    return TensorDataset(x, y, torch.arange(TRAIN_SIZE)), TensorDataset(x_test, y_test)


def train(model: DistributedDataParallel, data: TensorDataset) -> tuple[list[float], list[int]]:
    """The loss of each epoch over the whole group, and the samples that this rank had in it."""
    sampler = DistributedSampler(data)  # the same order on all ranks, another share for each
    loader = DataLoader(data, GLOBAL_BATCH // dist.get_world_size(), sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, seen = [], []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)  # without it, every epoch has the order of the first
        total, samples = torch.zeros((), device=model.device), 0
        for x, y, numbers in loader:
            loss = nn.functional.cross_entropy(model(x.to(model.device)), y.to(model.device))
            optimizer.zero_grad()
            loss.backward()  # meanwhile DDP averages the gradients over all ranks
            optimizer.step()
            total += loss.detach()
            samples += sum(1 << number for number in numbers.tolist())
        dist.all_reduce(total)  # a rank's own loss speaks of its own share alone
        losses.append(round(total.item() / len(loader) / dist.get_world_size(), 6))
        seen.append(samples)
        if dist.get_rank() == 0:  # the line end in the same write: ranks may share an output
            sys.stdout.write(f"epoch {epoch + 1} of {EPOCHS}: loss {losses[-1]}\n")
    return losses, seen


def save(model: nn.Module) -> str:
    """Write the whole model or nothing of it; return the digest of what can be read again."""
    partial = OUTPUT.with_suffix(".partial")
    torch.save(model.state_dict(), partial)
    partial.replace(OUTPUT)
    return digest(torch.load(OUTPUT, weights_only=True))


def digest(state: dict[str, Tensor]) -> str:
    """The same for two models that are equal to the last bit, and for no others."""
    return hashlib.sha256(b"".join(t.cpu().numpy().tobytes() for t in state.values())).hexdigest()


def main() -> None:
    """Join the group, train, save once, say what came of it, leave the group."""
    gpu = torch.cuda.is_available()
    device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if gpu else "cpu")
    dist.init_process_group("nccl" if gpu else "gloo")  # returns when all ranks have come
    if GLOBAL_BATCH % dist.get_world_size():
        sys.exit(f"GLOBAL_BATCH={GLOBAL_BATCH} does not divide by {dist.get_world_size()} ranks")
    data, test = digits()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    losses, seen = train(DistributedDataParallel(model), data)  # the wrapper links the ranks
    x, y = test.tensors
    right = (model(x.to(device)).argmax(1).cpu() == y).float().mean()
    report = {
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "accuracy": right.item(),
        "losses": losses,
        "parameters_sha256": digest(model.state_dict()),
        "saved_sha256": save(model) if dist.get_rank() == 0 else None,  # one file, one writer
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
