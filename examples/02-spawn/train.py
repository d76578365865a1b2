"""One process per device inside each instance, started by the script itself.

RANK in the environment is the first rank of this instance, and WORLD_SIZE counts processes:
so a process's rank is RANK plus its place in the instance. All else is lesson 01, unchanged.
"""

import os
import runpy
from pathlib import Path

from torch import multiprocessing

LESSON = Path(__file__).parent.with_name("01-ddp") / "train.py"


def run(local_rank: int, first_rank: int) -> None:
    """Be one process of the group."""
    os.environ |= {"RANK": str(first_rank + local_rank), "LOCAL_RANK": str(local_rank)}
    runpy.run_path(str(LESSON), run_name="__main__")


if __name__ == "__main__":
    processes = int(os.environ["LOCAL_WORLD_SIZE"])
    multiprocessing.spawn(run, args=(int(os.environ["RANK"]),), nprocs=processes)
