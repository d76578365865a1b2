"""What Python runs first in every process of the training container (as sitecustomize.py).

It must cost next to nothing, since any Python program of the image starts with it, and it hides
the sitecustomize that the image may have: so it runs that one, as if ours were not there.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


def _watch() -> None:
    """Wait for a training framework, if an operator wants to hear of it."""
    if os.environ.get("TRAININGJOB_REPORT_URL"):
        from trainingjob import _finder

        _finder.install()


def _next() -> Any:
    """The sitecustomize that Python would have found without us, if there is one.

    Others that chain as we do may run us again: what has been found once is not found twice.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    done = sys.__dict__.setdefault("_trainingjob_found", set())
    path = [entry for entry in sys.path if os.path.abspath(entry) != here]
    # importlib would be the way to it, and takes longer to load than all of this
    finder = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder")
    while path:
        spec = finder.find_spec("sitecustomize", path)
        if spec is None or spec.loader is None:
            return None
        if spec.origin not in done:
            done.add(spec.origin)
            return spec
        path = path[1:]
    return None


def _quietly(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception:  # noqa: BLE001  (nothing of ours may keep Python from starting)
        return None


def _run(spec: Any) -> None:
    """Its errors are its own: Python says what it says of a sitecustomize that fails."""
    from _frozen_importlib import module_from_spec

    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(module)


_quietly(_watch)
_spec = _quietly(_next)
if _spec is not None:
    _run(_spec)
