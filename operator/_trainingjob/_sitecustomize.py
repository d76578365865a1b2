"""What Python runs first in every process of the training container (as sitecustomize.py).

It must cost next to nothing, since any Python program of the image starts with it: it loads
nothing of ours until a training framework is imported. It is read by any Python, also by those
that are too old for us. It hides the sitecustomize that the image may have: so it runs that one,
as if ours were not there.
"""

import os
import sys

FRAMEWORKS = ("torch", "tensorflow", "jax", "mpi4py", "horovod")
HERE = os.path.dirname(os.path.abspath(__file__))
PUBLIC = os.path.join(os.path.dirname(HERE), "public")
"""Where users find `trainingjob`: behind all else, for a module of theirs may have that name."""


class Waiting(object):
    """A finder that finds nothing; the first framework that is asked for brings ours."""

    def find_spec(self, name, path=None, target=None):
        """Answer as the other finders do; part of the import system."""
        if name not in FRAMEWORKS or self not in sys.meta_path:
            return None
        finder = _quietly(lambda: _finder().install(self))
        return finder and finder.find_spec(name, path, target)


def _finder():
    from _trainingjob import _finder as found

    return found


def _watch():
    """Wait for a training framework, if an operator wants to hear of it."""
    if sys.version_info < (3, 8):
        return
    if PUBLIC not in sys.path:
        sys.path.append(PUBLIC)
    if not os.environ.get("TRAININGJOB_REPORT_URL") or hasattr(sys, "_trainingjob_raw"):
        return
    import _thread
    import time

    # before gevent or eventlet put theirs in their place
    sys._trainingjob_raw = _thread.start_new_thread, time.sleep
    sys.meta_path.insert(0, Waiting())
    sys.excepthook = _early(sys.excepthook)


def _early(previous):
    """The hook for an exception before any framework is there: a missing module, a missing file."""

    def hook(kind, value, trace):
        now = _quietly(lambda: _finder().early(previous)) or previous
        now(kind, value, trace)

    return hook


def _next():
    """What runs the sitecustomize that Python would have found without us, if there is one.

    Others that chain as we do may run us again: what has been found once is not found twice.
    """
    done = sys.__dict__.setdefault("_trainingjob_found", set())
    path = [entry for entry in sys.path if os.path.abspath(entry) not in (HERE, PUBLIC)]
    if sys.version_info < (3,):
        return _of_python_2(path)
    # importlib would be the way to it, and takes longer to load than all of this
    finder = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder")
    while path:
        spec = finder.find_spec("sitecustomize", path)
        if spec is None or spec.loader is None:
            return None
        if spec.origin not in done:
            done.add(spec.origin)
            return lambda: _run(spec)
        path = path[1:]
    return None


def _of_python_2(path):
    import imp

    found = imp.find_module("sitecustomize", path)
    return lambda: imp.load_module("sitecustomize", *found)


def _quietly(function):
    try:
        return function()
    except Exception:
        return None


def _run(spec):
    """Its errors are its own: Python says what it says of a sitecustomize that fails."""
    from _frozen_importlib import module_from_spec

    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(module)


_quietly(_watch)
_following = _quietly(_next)
if _following is not None:
    _following()
