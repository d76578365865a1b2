"""Names of jobs for a shell that completes them: quickly, or not at all."""

import asyncio
from collections.abc import Mapping

from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.errors import ClientError

_SECONDS = 2.0


def names(place: Mapping[str, str], incomplete: str) -> list[str]:
    """Those that begin like this."""
    try:
        found = asyncio.run(asyncio.wait_for(_names(place), _SECONDS))
    except (ClientError, TimeoutError):
        return []
    return [name for name in found if name.startswith(incomplete) and name.isprintable()]


async def _names(place: Mapping[str, str]) -> list[str]:
    async with AsyncTrainingJobClient(**place) as client:
        return [job.name for job in await client.list_jobs()]
