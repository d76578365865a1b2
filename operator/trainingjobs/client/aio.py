"""The asynchronous client: what people do with jobs, by watches and without a wait in between."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from lightkube import AsyncClient
from lightkube.core.generic_client import ALL_NS
from lightkube.types import PatchType

from trainingjobs.client import asked, config, kinds, plugin, sending, transport, watches
from trainingjobs.client import script as scripts
from trainingjobs.client.errors import ClientError, ExistsError, GoneError, TooLateError
from trainingjobs.client.failures import told
from trainingjobs.client.follow import Follower
from trainingjobs.client.job import SUCCEEDED, Job, Manifest
from trainingjobs.client.lines import LogLine
from trainingjobs.client.raw import Raw
from trainingjobs.client.script import Script
from trainingjobs.model import labels

_PAGE = 500
FIELD_MANAGER = "trainingjob-client"


class AsyncTrainingJobClient:
    """Jobs of one cluster; `async with` closes its connections."""

    def __init__(
        self,
        *,
        namespace: str | None = None,
        context: str | None = None,
        kubeconfig: str | None = None,
    ) -> None:
        """Connect as kubectl would.

        Args:
            namespace: where jobs are meant to be; else the context's.
            context: of the kubeconfig; else its current one.
            kubeconfig: a file; else KUBECONFIG, ~/.kube/config, or the pod's own account.
        """
        with told():
            found = config.load(kubeconfig, context)
            self.namespace = asked.namespace(str(namespace or found.namespace))
            way, known = transport.made(found), plugin.without(found)
            self._api = AsyncClient(
                config=known,
                namespace=self.namespace,
                field_manager=FIELD_MANAGER,
                transport=way,
            )
        self.raw = Raw(known, way)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()
        await self.raw.close()

    async def list_jobs(self, *, all_namespaces: bool = False) -> list[Job]:
        """The jobs of the namespace, or of all."""
        where = ALL_NS if all_namespaces else self.namespace
        with told():
            found = self._api.list(kinds.TrainingJob, namespace=where, chunk_size=_PAGE)
            return [Job(dict(item)) async for item in found]

    async def get_job(self, name: str) -> Job:
        """One job as it is now."""
        asked.job(name)

        async def ask() -> Job:
            return Job(dict(await self._api.get(kinds.TrainingJob, name, namespace=self.namespace)))

        with told():
            return await watches.steady(ask)

    async def get_job_pods(self, job: Job) -> list[Manifest]:
        """The pods that the job has now."""
        chosen: dict[str, Any] = {labels.JOB_UID: job.uid}

        async def ask() -> list[Manifest]:
            found = self._api.list(
                kinds.Pod, namespace=job.namespace, labels=chosen, chunk_size=_PAGE
            )
            return [dict(pod) async for pod in found]

        with told():
            return await watches.steady(ask)

    async def get_job_events(self, job: Job) -> list[Manifest]:
        """What was told of the job, and of the pods that it has now, the latest last."""
        uids = {job.uid, *(pod["metadata"]["uid"] for pod in await self.get_job_pods(job))}
        found = []
        for chosen in ({"involvedObject.uid": job.uid}, {"involvedObject.kind": "Pod"}):
            fields: dict[str, Any] = chosen
            with told():
                async for event in self._api.list(
                    kinds.Event, namespace=job.namespace, fields=fields, chunk_size=_PAGE
                ):
                    found += [dict(event)] if event["involvedObject"].get("uid") in uids else []
        return sorted(found, key=kinds.last_seen)

    async def create_job(self, manifest: Manifest, *, dry_run: bool = False) -> Job:
        """The job that the API server makes of the manifest."""
        metadata = manifest.get("metadata") or {}
        where = asked.namespace(str(metadata.get("namespace") or self.namespace))
        placed = kinds.TrainingJob({**manifest, "metadata": {**metadata, "namespace": where}})
        with told():
            return Job(dict(await self._api.create(placed, dry_run=dry_run)))

    async def train(self, script: Script, name: str | None = None) -> str:
        """Run a script as a job; its name.

        Raises:
            ClientError: when the files cannot be sent, or the job is refused.
        """
        if (wrong := scripts.problem(script.files)) is not None:
            raise ClientError(wrong)
        chosen = name or scripts.name(next(iter(script.files)), secrets.token_hex(2))
        job = await self.create_job(scripts.job(script, chosen, self.namespace))
        async with sending.or_undone(self._api, job):
            await sending.send(self._api, scripts.config_map(script, job.manifest))
        return job.name

    async def retry_job(self, name: str, new_name: str | None = None) -> str:
        """Run a job that is over anew, beside the old one; the new one's name."""
        old = await self.get_job(name)
        if not old.finished:
            raise ClientError(f"{name} is not over: it is {old.phase or 'new'}")
        made = await self._again(old, new_name)
        async with sending.or_undone(self._api, made):
            for sent in scripts.sent_with(old.manifest):
                await sending.share(self._api, sent, made)
        return made.name

    async def patch_job(self, name: str, change: Manifest) -> Job:
        """The job with these fields changed, as `kubectl patch --type=merge` does it."""
        with told():
            changed = await self._api.patch(
                kinds.TrainingJob,
                asked.job(name),
                change,
                namespace=self.namespace,
                patch_type=PatchType.MERGE,
            )
            return Job(dict(changed))

    async def delete_job(self, name: str) -> None:
        """Delete the job; its pods go with it."""
        with told():
            await self._api.delete(kinds.TrainingJob, asked.job(name), namespace=self.namespace)

    async def watch_job(self, name: str) -> AsyncGenerator[Job, None]:
        """The job now and after each change; an API server that is away for a while is waited for.

        Raises:
            GoneError: when it is deleted.
        """
        async with aclosing(watches.job(self._api, self.namespace, asked.job(name))) as states:
            async for job in states:
                yield job

    async def watch_pods(self, job: Job) -> AsyncGenerator[Manifest, None]:
        """The job's pods now, and each at each change, for ever."""
        async with aclosing(watches.pods(self._api, job)) as pods:
            async for pod in pods:
                yield pod

    async def wait_for_job_status(
        self,
        name: str,
        status: Collection[str] = (SUCCEEDED,),
        timeout: float | None = 600,  # noqa: ASYNC109  Kubeflow's name for it
    ) -> Job:
        """The job, once its phase is one of these.

        Raises:
            TooLateError: when that takes longer than the time-out; it is a TimeoutError.
            ClientError: when the job ends in another phase.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._reached(name, status)
        except TimeoutError as error:
            if isinstance(error, ClientError):
                raise
            raise TooLateError(f"{name} is not {' or '.join(status)} after {timeout:g} s") from None

    async def get_job_logs(
        self,
        name: str,
        *,
        ranks: Iterable[int] | None = None,
        attempt: int | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> AsyncGenerator[LogLine, None]:
        """Lines of all ranks in one stream; followed, it ends with the job.

        Args:
            name: whose.
            ranks: of these instances alone.
            attempt: of this attempt alone; else of the one that runs, and of later ones.
            follow: go on, over restarts and lost connections, until the job is finished.
            tail: so many lines of each rank's end alone.
        """
        job = await self.get_job(name)
        follower = Follower(self, self.raw, job, ranks=ranks, attempt=attempt)
        async with aclosing(follower.follow(tail) if follow else follower.read(tail)) as lines:
            async for line in lines:
                yield line

    async def _reached(self, name: str, status: Collection[str]) -> Job:
        async with aclosing(self.watch_job(name)) as states:
            async for job in states:
                if job.phase in status:
                    return job
                if job.finished:
                    raise ClientError(f"{name} has {job.phase.lower()}: {job.message}")
        raise GoneError(f"{name} was deleted")

    async def _again(self, old: Job, name: str | None) -> Job:
        """The job anew, under this name or under the next that is free."""
        chosen = name or scripts.next_name(old.name)
        while True:
            try:
                return await self.create_job(scripts.again(old.manifest, chosen))
            except ExistsError:
                if name:
                    raise
                chosen = scripts.next_name(chosen)
