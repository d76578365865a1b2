"""What the cluster changes on its host, put back afterwards.

The kubelet insists on a few kernel settings, routing needs forwarding, and some
programs write to fixed folders whatever they are told. The host did not ask for
any of it, so what was there before is written down first.
"""

import json
import pathlib
import shutil
from typing import Any, Final

from localcluster import places

SETTINGS: Final = (
    "net/ipv4/ip_forward",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
FOLDERS: Final = ("var/lib/kubelet", "var/log/containers", "var/lib/cni")
LINKS: Final = "var/log/containers"
RESULTS: Final = "var/lib/cni/results"


def remember(note: pathlib.Path, root: pathlib.Path = pathlib.Path("/")) -> None:
    """Write down the host as it is, unless an earlier start did so already."""
    if note.exists():
        return
    settings = {name: (root / "proc/sys" / name) for name in SETTINGS}
    document = {
        "settings": {name: path.read_text() for name, path in settings.items() if path.exists()},
        "absent": [folder for folder in FOLDERS if not (root / folder).exists()],
    }
    note.write_text(json.dumps(document))


def restore(note: pathlib.Path, root: pathlib.Path = pathlib.Path("/")) -> None:
    """Put back what was written down, and forget it."""
    if not note.exists():
        return
    document: dict[str, Any] = json.loads(note.read_text())
    for name, value in document["settings"].items():
        path = root / "proc/sys" / name
        if path.read_text() != value:
            path.write_text(value)
    for folder in document["absent"]:
        shutil.rmtree(root / folder, ignore_errors=True)
    note.unlink()


def tidy(at: places.Places, root: pathlib.Path = pathlib.Path("/")) -> None:
    """Remove our files from folders that others may use as well."""
    for link in (root / LINKS).glob("*"):
        if link.is_symlink() and link.readlink().is_relative_to(at.state):
            link.unlink()
    for result in (root / RESULTS).glob(f"{places.NETWORK}node-*-eth0"):
        sandbox = result.name.split("-")[-2]
        (result.parent / f"cni-loopback-{sandbox}-lo").unlink(missing_ok=True)
        result.unlink()
