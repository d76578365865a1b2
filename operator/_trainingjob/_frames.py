"""Stacks as a user reads them: which frames are the user's own, and what the main thread waits in.

Everything here may run in the reporter's thread: it only reads, and imports nothing.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import threading
from typing import Any, Iterable, Iterator, Tuple

from _trainingjob._guard import OURS

MOST = 24
"""Frames of a report."""
DEEP = 200
LONG = 300
"""Characters of a place."""
TOOLS = frozenset({"torch", "accelerate", "deepspeed", "lightning", "pytorch_lightning", "runpy"})
"""What is started with `python -m` and then runs the user's script."""

Seen = Tuple[str, int, str, str]
"""Of a frame, what is kept of it: file, line, function, module."""


def _folder(path: str | None) -> str:
    return os.path.join(os.path.abspath(path), "") if path else "\0"


def _here() -> str:
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:
        return "\0"
    return here if here != os.sep else "\0"


STDLIB = _folder(os.path.dirname(os.__file__))
PLATFORM = _folder(sysconfig.get_path("platstdlib"))
START = _here()
"""The working directory of the beginning: places inside of it are written without it."""
PACKAGES = re.compile(r".*/(?:site|dist)-packages/")
MOUNTED = re.compile(r"(^|/)\.\.\d{4}(?:_\d\d){5}\.\d+/")
"""What stands in the path of a module beside a script that is mounted from a ConfigMap."""


def walk(frame: Any) -> Iterator[Any]:
    """The frame and those that called it."""
    for _ in range(DEEP):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def kept(frame: Any) -> Seen:
    """What is kept of a frame, so that the frame and what it holds can go."""
    code = frame.f_code
    module = frame.f_globals.get("__name__")
    return (
        code.co_filename,
        frame.f_lineno or 0,
        code.co_name,
        module if isinstance(module, str) else "",
    )


def is_user(file: str, module: str = "") -> bool:
    """Neither the standard library's, nor an installed package's, nor ours."""
    if file.startswith("<"):
        return file in ("<string>", "<stdin>")
    if file.startswith(OURS):
        return False
    if PACKAGES.match(file) or file.startswith((STDLIB, PLATFORM)):
        return bool(module) and module.partition(".")[0] == _program()
    return True


def _program() -> str:
    """The package that was started with `python -m`, installed as it may be: it is the user's."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    package = str(getattr(spec, "name", None) or "\0").partition(".")[0]
    return "\0" if package in TOOLS else package


def short(file: str) -> str:
    """A path as the user would say it."""
    if file.startswith(START):
        file = file[len(START) :]
    packages = PACKAGES.match(file)
    if packages:
        file = file[packages.end() :]
    elif file.startswith(STDLIB):
        file = file[len(STDLIB) :]
    file = MOUNTED.sub(r"\1", file)
    return file if len(file) <= LONG - 12 else "…" + file[-(LONG - 13) :]


def place(frame: Seen) -> str:
    """`train.py:12`."""
    return f"{short(frame[0])}:{frame[1]}"


def owner(depth: int = 1) -> str | None:
    """The user's line that this call comes from."""
    for frame in walk(sys._getframe(depth)):
        seen = kept(frame)
        if is_user(seen[0], seen[3]):
            return place(seen)
    return None


def main_stack() -> list[Seen]:
    """The main thread's stack, innermost first; empty where it cannot be read safely."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return []
    main = threading.main_thread().ident or 0
    # no name is kept for a frame here: one that ends meanwhile would free what it holds, tensors
    # and the user's objects, in this thread
    stack = map(kept, walk(sys._current_frames().get(main)))
    return [seen for seen in stack if not seen[0].startswith(OURS)]


def told(frame: Seen) -> dict[str, Any]:
    """One frame of a report."""
    file, line, function, module = frame
    return {
        "file": short(file),
        "line": line,
        "function": function[:128],
        "user": is_user(file, module),
    }


def frames(stack: Iterable[Seen]) -> list[dict[str, Any]]:
    """The frames of a report: the innermost, and at least one of the user's, if there is any."""
    every = [told(frame) for frame in stack]
    first = every[:MOST]
    if any(frame["user"] for frame in first):
        return first
    users = [frame for frame in every[MOST:] if frame["user"]][:8]
    return first[: MOST - len(users)] + users
