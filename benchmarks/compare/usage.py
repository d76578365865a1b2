"""What a process costs: CPU seconds since a moment, and memory at its peak."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

MIB: Final = 2**20


@dataclass(slots=True)
class Usage:
    """One process."""

    pid: int
    _from: float = field(default=0.0)

    def begin(self) -> None:
        """Count from now on."""
        self._from = self._seconds()

    def seconds(self) -> float:
        """CPU seconds since then."""
        return self._seconds() - self._from

    def memory(self) -> float:
        """What it holds now, in MiB."""
        return float(psutil.Process(self.pid).memory_info().rss) / MIB

    def peak(self) -> float:
        """The most that it has held, in MiB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        value = next(line for line in lines if line.startswith("VmHWM"))
        return int(value.split()[1]) / 1024

    def _seconds(self) -> float:
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)
