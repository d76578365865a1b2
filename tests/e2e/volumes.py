"""A place that the pods of several attempts share: what examples keep their checkpoints in."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from e2e.harness import Cluster, Manifest, Namespace

SHARED = "/var/tmp"
"""The one folder of a node that every user may write."""


@contextmanager
def checkpoint(cluster: Cluster, lab: Namespace) -> Iterator[str]:
    """A claim that the example's pods can mount, and a file, or a folder, of their own on it."""
    volume, claim = _volume(lab)
    cluster.kubectl("create", "--filename=-", stdin=yaml.safe_dump(volume))
    lab.apply(claim)
    try:
        yield f"{lab.name}.pt"
    finally:
        cluster.kubectl("delete", "persistentvolume", lab.name, "--wait=false")
        # the embedded cluster's nodes are this machine
        left = Path(SHARED, f"{lab.name}.pt")
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)  # pods of a test that failed still write
        left.unlink(missing_ok=True)


def _volume(lab: Namespace) -> tuple[Manifest, Manifest]:
    """A volume on the node, and the claim that the example names."""
    size = {"storage": "1Mi"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": lab.name},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteMany"],
            "hostPath": {"path": SHARED},
            "claimRef": {"namespace": lab.name, "name": "checkpoints"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "checkpoints"},
        "spec": {
            "storageClassName": "",
            "volumeName": lab.name,
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": size},
        },
    }
    return volume, claim
