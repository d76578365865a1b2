"""The containers of one node: containerd, and what is asked of it.

The images of an earlier run are still there, and so are its dead containers, as
after a reboot of a machine; the kubelet clears those away within a minute.
"""

import pathlib
import subprocess
from collections.abc import Sequence

from localcluster import errors, nodeconfig, pause, processes, progress
from localcluster.images import layout


def start(starter: processes.Starter, home: nodeconfig.Home, plugins: pathlib.Path) -> None:
    """Start containerd and give it the pause image."""
    for folder in (home.folder / "cni", home.run, home.store):
        folder.mkdir(parents=True, exist_ok=True)
    config = home.folder / "containerd.toml"
    config.write_text(nodeconfig.containerd(home, plugins))
    (home.folder / "cni/10-pods.conflist").write_text(nodeconfig.conflist(home))
    name = f"{home.node.name}-containerd"
    record = starter.start(name, [*home.node.prefix, "containerd", "--config", str(config)])
    processes.wait([record], starter.at, lambda: _answers(starter.programs, home))
    load(starter.programs, home, [pause.image(home.folder)])


def load(programs: pathlib.Path, home: nodeconfig.Home, archives: Sequence[pathlib.Path]) -> None:
    """Import the image archives whose images the node does not have yet."""
    there = _images(programs, home)
    for path in archives:
        if not path.is_file():
            raise errors.ClusterError(f"no such image archive: {path}")
        wanted = layout.names(path)
        if not wanted or not wanted.items() <= there.items():
            progress.quick([*_ctr(programs, home), "images", "import", str(path)])


def _images(programs: pathlib.Path, home: nodeconfig.Home) -> dict[str, str]:
    """The digest of each image that the node has, by name."""
    table = progress.quick([*_ctr(programs, home), "images", "list"]).splitlines()[1:]
    rows = (line.split() for line in table)
    return {name: digest for name, _, digest, *_ in rows}


def _ctr(programs: pathlib.Path, home: nodeconfig.Home) -> list[str]:
    return [str(programs / "ctr"), "--address", str(home.socket), "--namespace", "k8s.io"]


def _answers(programs: pathlib.Path, home: nodeconfig.Home) -> bool:
    version = [*_ctr(programs, home), "version"]
    return subprocess.run(version, capture_output=True, check=False).returncode == 0
