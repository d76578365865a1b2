"""The command line: `python -m localcluster.nodeimage`, then `KIND_NODE_IMAGE=` what it prints."""

import pathlib
import shutil
import sys
import tempfile
import time
from typing import Final

from localcluster import cache, progress, versions
from localcluster.images import store
from localcluster.nodeimage import inside, system

NAME: Final = f"localhost/trainingjob-kind-node:v{versions.KUBERNETES}"
CHANGES: Final = (
    'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]',
    "ENV container=docker",
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
)


def main() -> int:
    """Build the image into the Docker engine that answers; 1 with a message when it cannot be."""
    return progress.told(_build)


def _build() -> None:
    began = time.monotonic()
    with (
        cache.alone(store.folder() / "node.lock", "the node image"),
        tempfile.TemporaryDirectory(dir=store.folder(), prefix="node-") as made,
    ):
        folder = pathlib.Path(made)
        progress.say("[1/4] Debian packages, and the programs")
        base, root = system.debian_archive(), folder / "root"
        system.lay(root)
        progress.say("[2/4] the images that kubeadm starts")
        inside.write(base, folder, folder / "images.tar")
        inside.load(folder / "images.tar", root, folder)
        progress.say("[3/4] the node's file system")
        whole = shutil.copyfile(base, folder / "node.tar")
        append = [
            "tar",
            "--append",
            f"--file={whole}",
            f"--directory={root}",
            "--owner=0",
            "--group=0",
        ]
        progress.run([*append, "."], "node: packing")
        progress.say("[4/4] docker import")
        changes = [f"--change={change}" for change in CHANGES]
        progress.run(["docker", "import", *changes, str(whole), NAME], "docker import")
    progress.say(f"built in {progress.lasting(time.monotonic() - began)}")
    print(NAME)


if __name__ == "__main__":
    sys.exit(main())
