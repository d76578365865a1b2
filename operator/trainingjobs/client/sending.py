"""Scripts on their way: the ConfigMap of a job, and of the one that runs it again."""

from lightkube import AsyncClient
from lightkube.types import PatchType

from trainingjobs.client import kinds, script
from trainingjobs.client.failures import told
from trainingjobs.client.job import Job, Manifest


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
