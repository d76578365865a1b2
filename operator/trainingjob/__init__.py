"""One optional line for training scripts: `trainingjob.report(step=…, total=…, loss=…)`.

The package comes with the pod, so nothing has to be installed. Where it is on the path but no
operator listens, `report` does nothing. Where it is not on the path (outside of the cluster,
`python -I` or `-S`, `rollCall: Disabled`) a script that should run there as well says:

    try:
        import trainingjob
    except ModuleNotFoundError:
        trainingjob = None
"""

from __future__ import annotations

import os

__all__ = ["report"]


def report(
    step: object = None,
    total: object = None,
    epoch: object = None,
    **words: object,
) -> None:
    """Tell the operator how far training is; never raises, never waits for the network.

    `step` of `total` and `epoch` are numbers; `sharded=True` and `wrapped=True` say that the
    script divides its data, or keeps its replicas alike, by itself; all other words are metrics
    such as `loss=0.3`. Tensors are taken too: one on a GPU is waited for, as `float()` does.
    What is no number is dropped.
    """
    if not os.environ.get("TRAININGJOB_REPORT_URL"):
        return
    try:
        from _trainingjob import _told

        _told.tell(step, total, epoch, words)
    except Exception as error:  # noqa: BLE001  (a report is never a reason to stop training)
        _raise_what_is_the_users(error)


def _raise_what_is_the_users(error: Exception) -> None:
    """A signal handler may have raised it while ours happened to run."""
    try:
        from _trainingjob._guard import came_from_outside
    except Exception:  # noqa: BLE001  (ours is not there, or too new for this Python)
        return
    if came_from_outside(error):
        raise error
