"""Any program that only wants ranks and addresses: k-means over a ring of plain sockets.

Nothing but Python's standard library: no torch, no numpy. Each rank has its share of the
handwritten digits; in each round the ranks add up, around the ring, where the digits of each
cluster lie. All is counted in whole numbers, so any number of ranks comes to the same result.
"""

import csv
import gzip
import importlib.util
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
PORT = int(os.environ["MASTER_PORT"])
ROUNDS = int(os.environ.get("ROUNDS", "12"))
CLUSTERS = 10
PIXELS = 64
PATIENCE = 300.0  # seconds that a rank waits for its neighbours

Sample = tuple[int, ...]


def address(rank: int) -> str:
    """Where a rank is found: the master by its name, the workers by a pattern for printf."""
    if rank == 0:
        return os.environ["MASTER_ADDR"]
    return os.environ["TRAININGJOB_WORKER_ADDR"] % (rank - 1)


def samples() -> list[Sample]:
    """All digits: 64 pixels each and, last, what the digit is; they come with scikit-learn."""
    found = importlib.util.find_spec("sklearn")
    assert found is not None  # noqa: S101
    assert found.submodule_search_locations is not None  # noqa: S101
    file = Path(found.submodule_search_locations[0]) / "datasets/data/digits.csv.gz"
    with gzip.open(file, "rt") as lines:
        return [tuple(int(float(value)) for value in row) for row in csv.reader(lines)]


class Ring:
    """A connection to the rank after this one, and one from the rank before it."""

    def __init__(self) -> None:
        dual = socket.has_dualstack_ipv6()  # IPv6, which takes IPv4 as well
        family = socket.AF_INET6 if dual else socket.AF_INET
        with socket.create_server(("", PORT), family=family, dualstack_ipv6=dual) as server:
            server.settimeout(PATIENCE)
            self.after = connection((RANK + 1) % SIZE)
            self.before, _ = server.accept()
        self.before.settimeout(PATIENCE)

    def sum(self, mine: list[int]) -> list[int]:
        """The sums over all ranks: what came from the rank before is added up and handed on."""
        total, passing = list(mine), mine
        for _ in range(SIZE - 1):
            self.after.sendall(struct.pack(f"!{len(passing)}q", *passing))
            passing = list(struct.unpack(f"!{len(mine)}q", self.read(8 * len(mine))))
            total = [one + other for one, other in zip(total, passing, strict=True)]
        return total

    def read(self, size: int) -> bytes:
        """So many bytes from the rank before; it ends with an error when that rank is gone."""
        read = b""
        while len(read) < size:
            part = self.before.recv(size - len(read))
            if not part:
                raise ConnectionError(f"rank {(RANK - 1) % SIZE} is gone")
            read += part
        return read


def connection(rank: int) -> socket.socket:
    """A connection to a rank, which may not be there yet, nor its name."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((address(rank), PORT), timeout=PATIENCE)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def nearest(sample: Sample, centres: list[list[float]]) -> int:
    """The cluster that a digit belongs to."""
    distances = [
        sum((a - b) * (a - b) for a, b in zip(sample[:PIXELS], centre, strict=True))
        for centre in centres
    ]
    return distances.index(min(distances))


def tally(mine: list[Sample], found: list[int]) -> list[int]:
    """For each cluster: how many digits, the sums of their pixels, how often each digit."""
    width = 1 + PIXELS + CLUSTERS
    counts = [0] * (CLUSTERS * width)
    for sample, cluster in zip(mine, found, strict=True):
        start = cluster * width
        counts[start] += 1
        for place, pixel in enumerate(sample[:PIXELS], start + 1):
            counts[place] += pixel
        counts[start + 1 + PIXELS + sample[PIXELS]] += 1
    return counts


def centre(own: list[int]) -> list[float]:
    """The middle of a cluster; nothing for one that is empty."""
    return [total / own[0] for total in own[1 : PIXELS + 1]] if own[0] else []


def by_cluster(counts: list[int]) -> list[list[int]]:
    """A tally in parts, one for each cluster."""
    width = len(counts) // CLUSTERS
    return [counts[start : start + width] for start in range(0, len(counts), width)]


def main() -> None:
    """Find the clusters, and say how well they fit what the digits are."""
    data = samples()
    mine = data[RANK::SIZE]
    centres = [list(map(float, sample[:PIXELS])) for sample in data[:CLUSTERS]]
    ring = Ring()
    found, moves = [-1] * len(mine), []
    for number in range(ROUNDS):
        before, found = found, [nearest(sample, centres) for sample in mine]
        moved = sum(one != other for one, other in zip(before, found, strict=True))
        *counts, moved_of_all = ring.sum([*tally(mine, found), moved])
        clusters = by_cluster(counts)
        centres = [centre(own) or old for own, old in zip(clusters, centres, strict=True)]
        moves.append(moved_of_all)
        if RANK == 0:
            sys.stdout.write(f"round {number + 1} of {ROUNDS}: {moved_of_all} digits moved\n")
    report = {
        "rank": RANK,
        "world_size": SIZE,
        "samples": len(mine),
        "moves": moves,
        "right": sum(max(own[PIXELS + 1 :]) for own in clusters),  # the usual digit of each cluster
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
