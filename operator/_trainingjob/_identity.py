"""Which process this is: a rank, one that starts ranks, or a helper that nobody asked about."""

from __future__ import annotations

import os
import sys
from typing import Any

from _trainingjob import _frames
from _trainingjob._guard import debug
from _trainingjob._standing import ME

RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK")
WORLDS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "WORLD_SIZE")
PLACE = (*RANKS, "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
OWNER = "TRAININGJOB_PROCESS"
"""Which process has taken a place in the group: others in that place are what it has started."""
DIGITS = 7
TOOLS = ("torch/_inductor/", "torch/utils/", "torch/testing/", "torch/multiprocessing/")
HELPERS = (
    "/torch/utils/data/", "/torch/_inductor/", "/joblib/", "/concurrent/futures/process.py",
    "/multiprocessing/pool.py", "/multiprocessing/managers.py",
)  # fmt: skip
"""Workers of data loaders, pools and managers: their first function is the library's own."""
ENDING = ("/multiprocessing/util.py", "/traceback.py", "/threading.py")
"""Where multiprocessing is when the function of a child has come back."""
LAUNCHERS = ("torch.distributed.launcher.api", "torch.distributed.run")
"""Who imports one of these starts ranks and is none, unless it joins a group after all."""


def number(names: tuple[str, ...]) -> int | None:
    """The first of these variables that is a whole number."""
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit() and len(text) <= DIGITS:
            return int(text)
    return None


def is_child() -> bool:
    """Whether multiprocessing has started this process."""
    process = sys.modules.get("multiprocessing.process")
    if process is None:
        return False
    # one that is spawned knows its parent only once it has imported what the script imports
    return process.parent_process() is not None or hasattr(process.current_process(), "_inheriting")


def learn() -> None:
    """What the environment says at the beginning; a spawned child learns its rank on joining."""
    me = ME.now
    me.world = number(WORLDS) or None
    if is_child():
        return
    place = " ".join(os.environ.get(name, "") for name in PLACE)
    owner, _, taken = os.environ.get(OWNER, "").partition(" ")
    me.helper = taken == place and owner not in ("", str(os.getpid()))
    if not me.helper:
        me.rank = number(RANKS)
        os.environ[OWNER] = f"{os.getpid()} {place}"


def is_launcher() -> bool:
    """Whether this process starts ranks, as torchrun's agent does; who joins a group does not."""
    me = ME.now
    return not me.grouped and (me.launcher or any(name in sys.modules for name in LAUNCHERS))


def task(stack: list[_frames.Seen]) -> str | None:
    """What a child of multiprocessing is for: "rank", "helper", or None while that does not show.

    It shows by the first function that the child was told to call: not before it is called, and
    not any more when it is over and the library ends the child.
    """
    begun = False
    for file, _, function, _ in reversed(stack):
        if file.endswith("multiprocessing/process.py"):
            begun = begun or function == "_bootstrap"
        elif begun:
            if file.endswith(ENDING):
                return None
            return "helper" if any(part in file for part in HELPERS) else "rank"
    return None


def is_tool() -> bool:
    """Whether the program is torch's own, such as the compiler's workers, and not torchrun."""
    file = str(getattr(sys.modules.get("__main__"), "__file__", ""))
    inside = _frames.PACKAGES.match(file)
    return file[inside.end() :].startswith(TOOLS) if inside else False


def group() -> tuple[Any, Any]:
    """Rank and world size as the process group knows them."""
    dist = sys.modules.get("torch.distributed")
    try:
        if dist is None or not dist.is_initialized():
            return None, None
        return dist.get_rank(), dist.get_world_size()
    except Exception as error:  # noqa: BLE001  (it is still being imported, or half made)
        debug(f"no group: {error!r}")
        return None, None
