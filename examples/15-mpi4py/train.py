"""MPI from Python without a framework: a sum over all ranks, and a line fitted by all of them.

Each rank has a share of the points; the sums that the fit needs are added up over the group, so
that every rank comes to the same line as one process with all points would.
"""

import json
import os
import sys

import numpy as np
from mpi4py import MPI

POINTS = 1200
SLOPE, START = 3.0, -2.0


def share(rank: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of one rank."""
    x = np.linspace(0.0, 1.0, POINTS)[rank::size]
    return x, SLOPE * x + START


def fit(world: MPI.Comm) -> tuple[float, float]:
    """Slope and start of the line through the points of all ranks, by least squares."""
    x, y = share(world.rank, world.size)
    own = np.array([len(x), x.sum(), y.sum(), (x * x).sum(), (x * y).sum()])
    total = np.empty_like(own)
    world.Allreduce(own, total, op=MPI.SUM)
    count, sum_x, sum_y, sum_xx, sum_xy = total
    slope = (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x**2)
    return slope, (sum_y - slope * sum_x) / count


def main() -> None:
    """Add up, fit, and say what came of it, rank by rank."""
    world = MPI.COMM_WORLD
    slope, start = fit(world)
    report = {
        "rank": world.rank,
        "world_size": world.size,
        "host": os.uname().nodename,
        "sum": world.allreduce(world.rank),
        "slope": round(slope, 9),
        "start": round(start, 9),
    }
    reports = world.gather(report)
    for told in reports or []:
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
