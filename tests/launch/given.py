"""Pods of an MPI job as processes of this machine: the programs as they are mounted, and a key."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _trainingjob_launch.group import Group
from trainingjobs import podfiles

KEY = b"a key"
PATIENCE = 20.0
WORKER = "127.0.0.1%d"
DOOR = "127.0.0.10"
"""The first worker, and the only one here."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def until(holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What it gives, once that is something."""
    due = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < due, "it did not come to that"
        time.sleep(0.02)


@dataclass
class Pods:
    """A folder that stands for the volume, and what runs from it."""

    folder: Path
    size: int = 2
    port: int = field(default_factory=free_port)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for path, text in podfiles.launcher().items():
            file = self.here / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o555)
        self.give(KEY)

    @property
    def here(self) -> Path:
        """Where the programs are."""
        return self.folder / "programs"

    @property
    def lists(self) -> Path:
        """Where the hosts are listed."""
        return self.folder / "lists"

    @property
    def group(self) -> Group:
        """What a pod of it knows."""
        return Group(
            size=self.size,
            slots=2,
            port=self.port,
            attempt="1",
            master="127.0.0.1",
            worker=WORKER,
            me=DOOR,
            folder=str(self.lists),
            here=str(self.here),
            key=KEY,
        )

    def give(self, key: bytes) -> None:
        """Another key than before for what starts from now on."""
        (self.here / "key").write_bytes(key)

    def environment(self, **extra: str) -> Mapping[str, str]:
        """What the operator sets."""
        own = {
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            "PARALLEL_INSTANCES": str(self.size),
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_PORT": str(self.port),
            "MASTER_ADDR": "127.0.0.1",
            "TRAININGJOB_ATTEMPT": "1",
            "TRAININGJOB_WORKER_ADDR": WORKER,
            "TRAININGJOB_ADDR": DOOR,
            "TRAININGJOB_HOSTFILE": str(self.lists / "hostfile"),
        }
        return own | extra

    def start(self, program: str, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """One of the programs."""
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(self.here / program), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**extra),
        )
        self.running.append(process)
        return process

    def run(self, program: str, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """One of the programs, to its end."""
        process = self.start(program, *arguments, **extra)
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess([program], process.returncode, out, err)

    def open_door(self, **extra: str) -> subprocess.Popen[str]:
        """A door that listens."""
        door = self.start("door", **extra)
        until(lambda: self.knock(door))
        return door

    def knock(self, door: subprocess.Popen[str]) -> bool:
        """True when somebody listens."""
        assert door.poll() is None, "the door has ended"
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    @contextmanager
    def visit(self) -> Iterator[socket.socket]:
        """A connection that says nothing of itself."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as sock:
            yield sock

    def end(self) -> None:
        """Nothing is left running."""
        for process in self.running:
            process.kill()
            process.communicate()
