"""The command line: `python -m localcluster.nodeimage`, then `KIND_NODE_IMAGE=` what it prints."""

import pathlib
import sys
import tempfile
import time
from typing import Final

from localcluster import cache, progress, versions
from localcluster.images import store
from localcluster.nodeimage import inside, system

NAME: Final = f"localhost/trainingjob-kind-node:v{versions.KUBERNETES}"
BASE: Final = "localhost/trainingjob-kind-node-debian:1"


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
        progress.say("[3/4] docker import")
        progress.run(["docker", "import", str(base), BASE], "docker import")
        progress.say("[4/4] docker build")
        file = f"--file={system.HERE / 'Dockerfile'}"
        build = ["docker", "build", f"--build-arg=BASE={BASE}", f"--tag={NAME}", file, str(root)]
        progress.run(build, "docker build")
    progress.say(f"built in {progress.lasting(time.monotonic() - began)}")
    print(NAME)


if __name__ == "__main__":
    sys.exit(main())
