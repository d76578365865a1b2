"""One optional line for training scripts: `trainingjob.report(step=…, total=…, loss=…)`.

The package comes with the pod, so nothing has to be installed. Where it is on the path but no
operator listens, `report` does nothing. Where it is not on the path (outside of the cluster,
`python -I`, `rollCall: Disabled`) a script that should run there as well says:

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
        from trainingjob import _told

        _told.tell(step, total, epoch, words)
    except Exception:  # noqa: BLE001, S110  (a report is never a reason to stop training)
        pass
