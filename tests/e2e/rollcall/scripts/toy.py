"""What all scenarios train: one layer on random samples, slowly enough to be watched.

Joining, dividing, wrapping, stepping and leaving stand in each script, as it is their lines that
the roll call has to name.
"""

import sys
import time

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

PACE = 0.1
"""Seconds of each step."""


def samples(count: int = 240) -> TensorDataset:
    """Random inputs with a target each, the same on all ranks."""
    chance = torch.Generator().manual_seed(0)
    return TensorDataset(
        torch.randn(count, 8, generator=chance), torch.randn(count, 1, generator=chance)
    )


def model() -> nn.Module:
    """One layer, the same on all ranks."""
    torch.manual_seed(0)
    return nn.Linear(8, 1)


def loss(network: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """How far the model is off; it takes its time."""
    time.sleep(PACE)
    return nn.functional.mse_loss(network(x), y)


def say(text: str) -> None:
    """Print a line and the moment."""
    sys.stdout.write(f"{text} at {time.time():.1f}\n")
    sys.stdout.flush()
