"""Which modules are watched, and what is done once each of them is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from _trainingjob import _data, _group, _network, _steps
from _trainingjob._guard import quiet

if TYPE_CHECKING:
    from _trainingjob._finder import Finder

WITH_TORCH: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("torch.optim.optimizer", _steps.watch_optimizers),
    ("torch.autograd", _steps.watch_backward),
    ("torch.cuda.graphs", _steps.watch_graphs),
    ("torch.distributed.distributed_c10d", _group.watch),
    ("torch.distributed.rpc", _group.watch_rpc),
    ("torch.multiprocessing.spawn", _group.watch_spawn),
    ("torch.utils.data.dataloader", _data.watch_loaders),
    ("torch.utils.data.distributed", _data.watch_samplers),
    *_network.WRAPPERS,
)
"""Once torch itself is whole: its parts that are there already now, the others when they come."""


def install(finder: Finder) -> None:
    """Watch what is there, and what may come."""
    finder.wait("torch", lambda _: _all(finder, WITH_TORCH))
    _all(finder, _group.OTHERS)


def _all(finder: Finder, table: tuple[tuple[str, Callable[[Any], None]], ...]) -> None:
    for name, hook in table:
        finder.wait(name, quiet(hook))
