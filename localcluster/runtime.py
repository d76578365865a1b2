"""The containers of one node: containerd, and what is asked of it."""

import pathlib
import subprocess
from collections.abc import Sequence

from localcluster import errors, nodeconfig, pause, processes, progress


def prepare(starter: processes.Starter, home: nodeconfig.Home, plugins: pathlib.Path) -> None:
    """Clear what an earlier run left in the image store, and write the configuration."""
    for folder in (home.folder / "cni", home.run, home.store):
        folder.mkdir(parents=True, exist_ok=True)
    if any(home.store.iterdir()):
        _clear(starter, home)
    (home.folder / "cni/10-pods.conflist").write_text(nodeconfig.conflist(home))
    _config(home).write_text(nodeconfig.containerd(home, plugins))


def start(starter: processes.Starter, home: nodeconfig.Home) -> None:
    """Start containerd and give it the pause image."""
    _run(starter, home)
    load(starter.programs, home, [pause.image(home.folder)])


def load(programs: pathlib.Path, home: nodeconfig.Home, archives: Sequence[pathlib.Path]) -> None:
    """Import image archives."""
    for path in archives:
        if not path.is_file():
            raise errors.ClusterError(f"no such image archive: {path}")
        progress.quick([*_ctr(programs, home), "images", "import", str(path)])


def _config(home: nodeconfig.Home) -> pathlib.Path:
    return home.folder / "containerd.toml"


def _ctr(programs: pathlib.Path, home: nodeconfig.Home) -> list[str]:
    return [str(programs / "ctr"), "--address", str(home.socket), "--namespace", "k8s.io"]


def _run(starter: processes.Starter, home: nodeconfig.Home) -> processes.Record:
    argv = [*home.node.prefix, "containerd", "--config", str(_config(home))]
    record = starter.start(f"{home.node.name}-containerd", argv)
    answers = [*_ctr(starter.programs, home), "version"]
    processes.wait(record, starter.at, lambda: _succeeds(answers))
    return record


def _clear(starter: processes.Starter, home: nodeconfig.Home) -> None:
    """Remove the containers of an earlier run; the images stay."""
    _config(home).write_text(nodeconfig.bare_containerd(home))
    record = _run(starter, home)
    ctr = _ctr(starter.programs, home)
    for kind in ("containers", "sandboxes"):
        if left := _listed([*ctr, kind, "list"]):
            subprocess.run([*ctr, kind, "remove", *left], capture_output=True, check=False)
    processes.stop([record], patience=10)


def _listed(command: Sequence[str]) -> list[str]:
    rows = progress.quick(command).splitlines()[1:]
    return [row.split()[0] for row in rows if row.strip()]


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
