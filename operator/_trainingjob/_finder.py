"""Waits for the first import of a training framework; until then it does nothing.

A finder at the front of `sys.meta_path` sees the name of every module before it is loaded. For
the few that matter it lets the module load as ever, and calls us when that is done: the loader's
own `exec_module` is covered for that one call, so loaders, specs and modules stay what they are.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes longer to load than all of this
    from typing import Any, Callable

    Hook = Callable[[Any], None]

FRAMEWORKS = ("torch", "tensorflow", "jax", "mpi4py", "horovod")


class Finder:
    """Calls a hook with each module that it waits for, once that is imported."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[Hook]] = {}
        self.loaded: set[str] = set()

    def wait(self, name: str, hook: Hook) -> None:
        """Call the hook with the module of this name: now, if it is there, else once it is."""
        module = sys.modules.get(name)
        loading = getattr(getattr(module, "__spec__", None), "_initializing", False)
        if module is not None and (name in self.loaded or not loading):
            hook(module)
        else:
            self.hooks.setdefault(name, []).append(hook)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Answer as the other finders do; part of the import system."""
        if name not in self.hooks:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._cover(name, spec.loader)
                return spec
        return None

    def _cover(self, name: str, loader: Any) -> None:
        try:
            cover = loader.exec_module
            if not isinstance(cover, Cover):
                cover = loader.exec_module = Cover(self, loader)
            cover.names.add(name)
        except Exception:  # noqa: BLE001  (a loader that is closed to us: no hook, no harm)
            return

    def came(self, name: str, module: Any) -> None:
        self.loaded.add(name)
        for hook in self.hooks.pop(name, ()):
            _call(hook, module)


class Cover:
    """In place of a loader's exec_module, until the modules that are waited for are there.

    Some loaders load more than one module: one of an archive, one of a finder's.
    """

    def __init__(self, finder: Finder, loader: Any) -> None:
        self.finder, self.loader = finder, loader
        self.original = loader.exec_module
        self.names: set[str] = set()

    def __call__(self, module: Any) -> Any:
        """Load it, then say so."""
        name = module.__spec__.name
        awaited = name in self.names
        self.names.discard(name)
        if not self.names and vars(self.loader).get("exec_module") is self:
            del self.loader.exec_module
        self.original(module)
        if awaited:
            self.finder.came(name, module)


def _call(hook: Hook, module: Any) -> None:
    try:
        hook(module)
    except Exception:  # noqa: BLE001  (the user's import has worked, and says so)
        return


FINDER = Finder()
start_new_thread, sleep = vars(sys).get("_trainingjob_raw", (_thread.start_new_thread, time.sleep))
"""As they were when Python started."""


def install(waiting: Any) -> Finder:
    """Begin to wait, in place of the finder that waited for the first framework."""
    sys.meta_path[sys.meta_path.index(waiting)] = FINDER
    for name in FRAMEWORKS:
        FINDER.wait(name, _begin)
    return FINDER


def _begin(_module: Any) -> None:
    from _trainingjob import _begin as beginning

    beginning.begin()


def early(previous: Any) -> Any:
    """The hook for an exception of now, if the process is the one that the container is for."""
    if "_trainingjob._begin" in sys.modules or not _is_main_program():
        return previous
    _begin(None)
    from _trainingjob import _ends

    return _ends.Hook(previous)


def _is_main_program() -> bool:
    """Not a tool that the script, or a shell before it, has run: these may fail as they like."""
    if os.getpid() == 1 or os.environ.get("TORCHELASTIC_RUN_ID"):
        return True
    if os.getppid() != 1:
        return False
    with open("/proc/1/comm", encoding="ascii") as file:
        return "python" not in file.read()
