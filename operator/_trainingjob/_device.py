"""Which accelerator the process uses: two ranks on one device is a mistake that shows nowhere."""

from __future__ import annotations

import os
import sys
from typing import Any

from _trainingjob._guard import quiet


@quiet
def of(optimizer: Any) -> str | None:
    """The device of the parameters that were stepped; a GPU is only asked when it is in use."""
    torch = sys.modules["torch"]
    if not torch.cuda.is_initialized():
        return None
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.device.type == "cuda":
                return _name(torch.cuda, parameter.device.index or 0)
    return None


def _name(cuda: Any, index: int) -> str:
    unique = getattr(cuda.get_device_properties(index), "uuid", None)
    if unique is not None:
        return f"GPU-{unique}"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return f"cuda:{index} of [{visible[:64]}]"
