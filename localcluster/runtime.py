"""The containers of one node: containerd, and what is asked of it.

The images of an earlier run are still there, and so are its dead containers, as
after a reboot of a machine; the kubelet clears those away within a minute.
"""

import pathlib
import subprocess
from collections.abc import Sequence

from localcluster import errors, nodeconfig, pause, processes, progress


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
    """Import image archives."""
    for path in archives:
        if not path.is_file():
            raise errors.ClusterError(f"no such image archive: {path}")
        progress.quick([*_ctr(programs, home), "images", "import", str(path)])


def _ctr(programs: pathlib.Path, home: nodeconfig.Home) -> list[str]:
    return [str(programs / "ctr"), "--address", str(home.socket), "--namespace", "k8s.io"]


def _answers(programs: pathlib.Path, home: nodeconfig.Home) -> bool:
    version = [*_ctr(programs, home), "version"]
    return subprocess.run(version, capture_output=True, check=False).returncode == 0
