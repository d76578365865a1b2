"""Fully sharded training (ZeRO): each rank keeps a part of every parameter.

What a rank has of the model, of its gradients and of the optimizer's state between two steps is
one part of WORLD_SIZE; the ranks put a layer together when it has to compute. The losses are
those of lesson 01, whose model and data these are.
"""

import json
import os
import runpy
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))
EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = 120
# gloo has no average, and torch 2.6 divides by itself only where the type is not the usual one
POLICY = MixedPrecisionPolicy(reduce_dtype=torch.float64)
OUTPUT = Path(os.environ.get("OUTPUT", "model.pt"))


def a_model() -> nn.Sequential:
    """The model of lesson 01, with the same numbers in it on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def sharded() -> nn.Sequential:
    """The model in parts: each layer by itself, so that only one is whole at a time."""
    model = a_model()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shard",))
    for layer in (model[0], model[2]):
        # whole from its forward to its backward: torch 2.6 cannot put it together twice on CPUs
        fully_shard(layer, mesh=mesh, mp_policy=POLICY, reshard_after_forward=False)
    return model


def lend_streams() -> None:
    """Give CPUs the two methods that `fully_shard` calls there, which torch 2.6 has forgotten."""
    for name in ("record_event", "wait_event"):
        if not hasattr(torch.cpu.Stream, name):
            setattr(torch.cpu.Stream, name, lambda *_: torch.cpu.Event())


def train(
    model: nn.Module, optimizer: torch.optim.Optimizer, data: TensorDataset
) -> tuple[list[float], list[int]]:
    """The loss of each epoch over the whole group, and the samples that this rank had in it."""
    sampler = DistributedSampler(data)
    loader = DataLoader(data, GLOBAL_BATCH // dist.get_world_size(), sampler=sampler)
    losses, seen = [], []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        total, samples = torch.zeros(()), 0
        for x, y, numbers in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()  # averages the gradients, and leaves each rank its part of them
            optimizer.step()
            total += loss.detach()
            samples += sum(1 << number for number in numbers.tolist())
        dist.all_reduce(total)
        losses.append(round(total.item() / len(loader) / dist.get_world_size(), 6))
        seen.append(samples)
    return losses, seen


def held(tensors: list[Tensor]) -> int:
    """How many numbers of these tensors lie on this rank."""
    return sum(tensor.to_local().numel() for tensor in tensors)


def save(model: nn.Module) -> None:
    """Put the parts together, which all ranks have to do, and let one of them write the file."""
    state = {name: part.full_tensor() for name, part in model.state_dict().items()}
    if dist.get_rank() == 0:
        partial = OUTPUT.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(OUTPUT)


def accuracy(test: TensorDataset) -> float:
    """How often the saved file is right: loaded into a model of one process."""
    model = a_model()
    model.load_state_dict(torch.load(OUTPUT, weights_only=True))
    x, y = test.tensors
    return (model(x).argmax(1) == y).float().mean().item()


def main() -> None:
    """Join the group, train in parts, save the whole, say what came of it, leave the group."""
    dist.init_process_group("gloo")
    data, test = LESSON["digits"]()
    lend_streams()
    model = sharded()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)  # of the parts
    losses, seen = train(model, optimizer, data)
    save(model)
    report = {
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "losses": losses,
        "parameters": sum(part.numel() for part in model.parameters()),
        "parameters_held": held(list(model.parameters())),
        "momentum_held": held([one["momentum_buffer"] for one in optimizer.state.values()]),
        "saved_accuracy": accuracy(test) if dist.get_rank() == 0 else None,
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
