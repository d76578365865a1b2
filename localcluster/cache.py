"""Where what was built is kept.

Building Kubernetes takes a quarter of an hour, so its programs outlive the
checkout, the virtual environment and the cluster: they lie in the user's cache
folder, and every checkout finds them there.
"""

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Iterator

from localcluster import progress


def folder() -> pathlib.Path:
    """The cache folder of this project, made when it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    path = pathlib.Path(base) / "trainingjob-operator"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def alone(path: pathlib.Path, what: str) -> Iterator[None]:
    """Hold the lock file `path`, so that two starts never do `what` at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"another process is busy with {what}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
