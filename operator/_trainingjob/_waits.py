"""What the main thread waits in, read from its stack: the name that tells a victim from the guilty.

Only the frames inside of the user's innermost one count: a function of the user's that backward
has called is the user's again.
"""

from __future__ import annotations

import linecache
import re
import sys
from typing import Sequence

from _trainingjob import _frames

ENTRIES = (
    ("torch/distributed/distributed_c10d.py", "", ""),
    ("torch/distributed/rendezvous.py", "", "init_process_group"),
    ("torch/distributed/utils.py", "_verify_param_shape_across_processes", "wrap"),
    ("torch/distributed/utils.py", "_sync_module_states", "wrap"),
    ("torch/distributed/rpc/__init__.py", "init_rpc", "init_rpc"),
    ("torch/distributed/rpc/api.py", "", ""),
    ("torch/nn/parallel/distributed.py", "_sync_module_buffers", "forward"),
    ("torch/nn/parallel/distributed.py", "_sync_buffers", "forward"),
    ("torch/autograd/graph.py", "_engine_run_backward", "backward"),
    ("torch/autograd/__init__.py", "backward", "backward"),
    ("torch/cuda/__init__.py", "synchronize", "synchronize"),
    ("torch/cuda/streams.py", "synchronize", "synchronize"),
    ("torch/distributed/_functional_collectives.py", "", ""),
    ("horovod/torch/mpi_ops.py", "", ""),
    ("horovod/tensorflow/mpi_ops.py", "", ""),
    ("jax/_src/distributed.py", "initialize", "jax.distributed.initialize"),
    ("jax/_src/array.py", "block_until_ready", "block_until_ready"),
    ("jax/_src/array.py", "_value", "block_until_ready"),  # float(array), print, device_get …
    ("jax/_src/api.py", "block_until_ready", "block_until_ready"),
    ("jax/_src/numpy/array_methods.py", "_item", "item"),
    ("jax/experimental/multihost_utils.py", "", ""),
    ("tensorflow/python/distribute/cross_device_ops.py", "", ""),
)
"""Where one waits for others: file of a library, function (any), name for it (the function's)."""

CALL = re.compile(r"\.(\w+)\(")
OF_MPI = (
    "allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "recv", "reduce", "scatter",
    "send", "wait",
)  # fmt: skip
ON_THE_LINE = {
    "torch": frozenset({"wait"}),
    "mpi4py": frozenset(OF_MPI),
    "jax": frozenset({"block_until_ready"}),
}
ON_THE_GPU = frozenset({"synchronize", "item", "cpu", "tolist"})


def waits_in(stack: Sequence[_frames.Seen]) -> str | None:
    """The collective, or None for a thread that works."""
    found = None
    for depth, frame in enumerate(stack):
        if _frames.is_user(frame[0], frame[3]):
            return found if depth else _on_the_line(frame)
        found = _named(*frame[:3:2]) or found
    return found


def _named(file: str, function: str) -> str | None:
    for entry, wanted, name in ENTRIES:
        if file.endswith(entry) and wanted in ("", function):
            public = not function.startswith(("_", "wrapper", "<"))
            return name or (function if public else None)
    return None


def _on_the_line(frame: _frames.Seen) -> str | None:
    """What blocks inside of compiled code has no frame of its own: the line's words tell."""
    words = {word.lower() for word in CALL.findall(linecache.getline(frame[0], frame[1]))}
    known: set[str] = set()
    for library, names in ON_THE_LINE.items():
        if library in sys.modules:
            known |= names
    cuda = sys.modules.get("torch.cuda")
    if words & known or cuda is None or not cuda.is_initialized():
        return min(words & known, default=None)
    return min(words & ON_THE_GPU, default=None)
