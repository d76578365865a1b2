"""Scripts on their way: the ConfigMap of a job, and of the one that runs it again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from lightkube import AsyncClient
from lightkube.types import PatchType

from trainingjobs.client import kinds, script
from trainingjobs.client.errors import ClientError
from trainingjobs.client.failures import told
from trainingjobs.client.job import Job, Manifest


@asynccontextmanager
async def or_undone(api: AsyncClient, job: Job) -> AsyncIterator[None]:
    """What goes wrong inside takes the new job with it: without its script it would wait for ever.

    Raises:
        ClientError: the cause, also where the job cannot be deleted.
    """
    try:
        yield
    except ClientError as cause:
        try:
            await _delete(api, job)
        except ClientError as error:
            words = f"{cause}; {job.name} was made and stays, for it cannot be deleted: {error}"
            raise ClientError(words) from cause
        raise
    except asyncio.CancelledError:
        with suppress(ClientError):
            await _delete(api, job)
        raise


async def _delete(api: AsyncClient, job: Job) -> None:
    with told():
        await api.delete(kinds.TrainingJob, job.name, namespace=job.namespace)


async def send(api: AsyncClient, config_map: Manifest) -> None:
    """Store a script; the manifest says in which namespace."""
    with told():
        await api.create(kinds.ConfigMap(config_map))


async def share(api: AsyncClient, config_map: str, job: Job) -> None:
    """Keep a script for as long as this job is there too."""
    with told():
        found = await api.get(kinds.ConfigMap, config_map, namespace=job.namespace)
        before = found["metadata"].get("ownerReferences") or []
        owners = [*before, script.owner(job.metadata)]
        await api.patch(
            kinds.ConfigMap,
            config_map,
            {"metadata": {"ownerReferences": owners}},
            namespace=job.namespace,
            patch_type=PatchType.MERGE,
        )
