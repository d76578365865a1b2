"""A digest of the parameters, for who asks for it: replicas that differ train different models.

The bits of each parameter are added up as whole numbers. That is exact and the same in any order
of summing, so equal replicas agree on any hardware, and one bit that differs shows.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

from _trainingjob._guard import quiet

DIGITS = 9
_ASKED = os.environ.get("TRAININGJOB_CHECKSUM_STEPS", "")
EVERY = int(_ASKED) if _ASKED.isdigit() and len(_ASKED) <= DIGITS else 0
"""Steps from one digest to the next; 0 for none."""


@quiet
def of(optimizer: Any, step: int) -> dict[str, Any] | None:
    """The digest after this step; None of parameters in pieces, or while a graph is recorded."""
    torch = sys.modules["torch"]
    cuda = torch.cuda
    if cuda.is_initialized() and cuda.is_current_stream_capturing():
        return None
    whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    sums = []
    with torch.no_grad():
        for group in optimizer.param_groups:
            for parameter in filter(_is_whole, group["params"]):
                bits = parameter.detach().view(whole[parameter.element_size()])
                sums.append(bits.sum(dtype=torch.int64))
        if not sums:
            return None
        # one wait for the device, not one for each parameter
        numbers = torch.stack([number.to(sums[0].device) for number in sums]).tolist()
    value = hashlib.sha256(repr(numbers).encode()).hexdigest()[:32]
    return {"step": step, "value": value}


def _is_whole(parameter: Any) -> bool:
    """Not a rank's part of one: DTensor, FSDP's flat parameter."""
    sharded = hasattr(parameter, "placements") or hasattr(parameter, "_is_flat_param")
    return not (sharded or parameter.is_meta or parameter.is_sparse or parameter.is_complex())
