"""Prints the hosts that are there now, for launchers that ask again and again (Horovod elastic)."""

from __future__ import annotations

import sys

from _trainingjob_launch import wire
from _trainingjob_launch.group import Group
from _trainingjob_launch.launch import asked


def main(own: Group, _arguments: list[str]) -> int:
    """Print `host:slots` for the master and for each worker that answers."""
    missing = asked(own, own.workers, wire.HELLO)
    there = [host for host in own.hosts if host not in missing]
    sys.stdout.writelines(f"{host}:{own.slots}\n" for host in there)
    return 0
