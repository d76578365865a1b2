"""A parameter server: the master holds the model, and the workers train it through torch's RPC.

In each step, every worker hands in the gradient of its share of the batch, and gets the new
parameters as soon as the gradients of all have been averaged. So the losses are those of lesson
01, whose model and data these are; more workers share the same global batch.
"""

import json
import os
import runpy
import sys
import threading
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed import rpc
from torch.futures import Future
from torch.utils.data import DataLoader, DistributedSampler

LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))
EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = 120
OUTPUT = Path(os.environ.get("OUTPUT", "model.pt"))
RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
WORKERS = WORLD_SIZE - 1
MASTER = "rank0"
PATIENCE = 300.0  # seconds that a worker waits for the slowest of the others

State = dict[str, Tensor]


class Server:
    """The parameters, their optimizer, and the gradients that have come for the next step."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.lock = threading.Lock()  # requests are served by several threads
        self.came = 0
        self.next: Future[State] = Future()
        self.losses: list[float] = []
        self.steps = 0

    def take(self, loss: float, gradients: list[Tensor]) -> Future[State]:
        """Add a worker's gradients; what it gets is there when those of all have come."""
        with self.lock:
            answer = self.next
            self.losses.append(loss)
            for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
                share = gradient / WORKERS
                parameter.grad = share if parameter.grad is None else parameter.grad + share
            self.came += 1
            if self.came == WORKERS:
                self.step()
        return answer

    def step(self) -> None:
        """Change the parameters, and hand them to all who wait."""
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        answer, self.next, self.came = self.next, Future(), 0
        answer.set_result(self.state())

    def state(self) -> State:
        """A copy of the parameters, which no later step changes."""
        return {name: value.clone() for name, value in self.model.state_dict().items()}


SERVER = Server() if RANK == 0 else None


def current() -> State:
    """On the master: the parameters."""
    assert SERVER is not None  # noqa: S101  (only the master is asked)
    return SERVER.state()


@rpc.functions.async_execution
def hand_in(loss: float, gradients: list[Tensor]) -> Future[State]:
    """On the master: take gradients, and answer once the step is done, without a thread waiting."""
    assert SERVER is not None  # noqa: S101  (only the master is asked)
    return SERVER.take(loss, gradients)


def work() -> dict[str, Any]:
    """On a worker: train on its share of the data; the samples that it had, and its parameters."""
    data, _ = LESSON["digits"]()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    model.load_state_dict(rpc.rpc_sync(MASTER, current))
    sampler = DistributedSampler(data, num_replicas=WORKERS, rank=RANK - 1)
    loader = DataLoader(data, GLOBAL_BATCH // WORKERS, sampler=sampler)
    seen = []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        samples = 0
        for x, y, numbers in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            gradients = list(torch.autograd.grad(loss, list(model.parameters())))
            mine = (loss.item(), gradients)
            model.load_state_dict(rpc.rpc_sync(MASTER, hand_in, mine, timeout=PATIENCE))
            samples += sum(1 << number for number in numbers.tolist())
        seen.append(samples)
    return {
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
        "parameters_sha256": LESSON["digest"](model.state_dict()),
    }


def result() -> dict[str, Any]:
    """On the master, when all have left: the loss of each epoch, and the saved model's accuracy."""
    assert SERVER is not None  # noqa: S101
    model = SERVER.model
    partial = OUTPUT.with_suffix(".partial")
    torch.save(model.state_dict(), partial)
    partial.replace(OUTPUT)
    _, test = LESSON["digits"]()
    x, y = test.tensors
    each = len(SERVER.losses) // EPOCHS
    parts = [SERVER.losses[start : start + each] for start in range(0, EPOCHS * each, each)]
    return {
        "losses": [round(sum(part) / each, 6) for part in parts],
        "steps": SERVER.steps,
        "accuracy": (model(x).argmax(1) == y).float().mean().item(),
        "parameters_sha256": LESSON["digest"](model.state_dict()),
    }


def main() -> None:
    """Join the others, work or serve until all have done, say what came of it."""
    rpc.init_rpc(f"rank{RANK}", rank=RANK, world_size=WORLD_SIZE)
    report = work() if RANK else {}
    rpc.shutdown()  # waits for all; until then the master serves
    report |= {"rank": RANK, "world_size": WORLD_SIZE} | ({} if RANK else result())
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
