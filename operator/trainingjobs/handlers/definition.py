"""Waits for the resource definition, which may be installed together with the operator."""

import asyncio
import logging

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.model import labels

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 5.0
_HOW_TO_INSTALL = "install it with: kubectl apply -f crds/trainingjob.yaml"


async def until_served(api: Api) -> None:
    """Return when the API server knows TrainingJobs."""
    served = await _is_served(api)
    while not served:
        await asyncio.sleep(_AGAIN_SECONDS)
        served = await _is_served(api)


async def _is_served(api: Api) -> bool:
    name = f"{labels.PLURAL}.{labels.GROUP}"
    try:
        found = await api.request("GET", paths.JOBS_ROOT)
    except ApiError as error:
        _LOG.warning("no %s on this API server (%s): %s", name, error, _HOW_TO_INSTALL)
        return False
    return any(item["name"] == labels.PLURAL for item in found["resources"])
