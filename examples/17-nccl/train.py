"""Training on GPUs: one process for each, and NCCL between them.

What differs from lesson 01 is little: each process takes the GPU that its LOCAL_RANK says, before
anything else touches one, and tells the group which it is. The model and the data are those of
lesson 01, so are the losses; the exchange of a large tensor is timed as well.
"""

import json
import os
import runpy
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

LESSON = runpy.run_path(str(Path(__file__).parent.with_name("01-ddp") / "train.py"))
MEBIBYTES = 64
ROUNDS = 20
PATIENCE = timedelta(minutes=5)  # a collective that takes longer has lost a peer


def bandwidth(device: torch.device) -> float:
    """Gigabytes per second and GPU that an all-reduce of a large tensor moves."""
    tensor = torch.ones(MEBIBYTES * 2**20 // 4, device=device)
    dist.all_reduce(tensor)  # the first one builds the connections
    torch.cuda.synchronize(device)
    start = time.monotonic()
    for _ in range(ROUNDS):
        dist.all_reduce(tensor)
    torch.cuda.synchronize(device)  # calls return before the GPU is done
    seconds = (time.monotonic() - start) / ROUNDS
    size = dist.get_world_size()
    return 2 * (size - 1) / size * MEBIBYTES * 2**20 / seconds / 1e9


def main() -> None:
    """Take a GPU, join the group, train, say what came of it, leave the group."""
    local = int(os.environ["LOCAL_RANK"])
    if local >= torch.cuda.device_count():
        sys.exit(f"process {local} of this instance, and {torch.cuda.device_count()} GPUs")
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device, timeout=PATIENCE)
    data, test = LESSON["digits"]()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    wrapped = DistributedDataParallel(model, device_ids=[local])
    losses, seen = LESSON["train"](wrapped, data)
    x, y = test.tensors
    report = {
        "rank": dist.get_rank(),
        "world_size": dist.get_world_size(),
        "gpu": str(torch.cuda.get_device_properties(device).uuid),
        "losses": losses,
        "accuracy": (model(x.to(device)).argmax(1).cpu() == y).float().mean().item(),
        "parameters_sha256": LESSON["digest"](model.state_dict()),
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
        "gigabytes_per_second": round(bandwidth(device), 1),
    }
    sys.stdout.write(json.dumps(report) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
