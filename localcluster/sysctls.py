"""Kernel settings that the cluster changes, put back afterwards.

The kubelet insists on a few values and routing needs forwarding. The host did not
ask for any of it, so what was there before is written down first.
"""

import json
import pathlib
from typing import Final

NAMES: Final = (
    "net/ipv4/ip_forward",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
ROOT: Final = pathlib.Path("/proc/sys")


def remember(target: pathlib.Path, root: pathlib.Path = ROOT) -> None:
    """Write down the values as they are, unless an earlier start did so already."""
    if not target.exists():
        found = {name: (root / name).read_text() for name in NAMES if (root / name).exists()}
        target.write_text(json.dumps(found))


def restore(source: pathlib.Path, root: pathlib.Path = ROOT) -> None:
    """Put back the values that were written down, and forget them."""
    if not source.exists():
        return
    for name, value in json.loads(source.read_text()).items():
        if (root / name).read_text() != value:
            (root / name).write_text(value)
    source.unlink()
