"""Objects as they change: a watch that breaks is begun anew, from what is there by then."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar, cast

import httpx2
from lightkube import AsyncClient

from trainingjobs.client import kinds
from trainingjobs.client.errors import GoneError, NotFoundError
from trainingjobs.client.failures import translated
from trainingjobs.client.job import Job, Manifest
from trainingjobs.model import labels

T = TypeVar("T")
_PAUSES = (0.2, 1.0, 2.0, 5.0)
_AGAIN = (0.1, 0.3)
_PASSING = {408, 410, 429}


async def job(api: AsyncClient, namespace: str, name: str) -> AsyncGenerator[Job, None]:
    """The job now and after each change; an API server that is away is waited for.

    Raises:
        GoneError: when it is deleted.
    """
    uid, failures = "", 0
    while True:
        try:
            async with aclosing(_states(api, namespace, name)) as states:
                async for found in states:
                    if uid and found.uid != uid:
                        raise GoneError(f"{name} was deleted, and another of its name was made")
                    uid, failures = found.uid, 0
                    yield found
        except (httpx2.HTTPError, ValueError) as error:
            if not uid or not passing(error):
                raise translated(error) from error
            await _pause(failures)
            failures += 1
        except NotFoundError:
            if uid:
                raise GoneError(f"{name} was deleted") from None
            raise


async def _states(api: AsyncClient, namespace: str, name: str) -> AsyncGenerator[Job, None]:
    """The job, and its changes until the watch breaks."""
    fields: dict[str, Any] = {"metadata.name": name}
    listed = api.list(kinds.TrainingJob, namespace=namespace, fields=fields)
    found = [item async for item in listed]
    if not found:
        raise NotFoundError(f"no job {name} in namespace {namespace}; `list -A` shows all")
    yield Job(dict(found[0]))
    events = api.watch(
        kinds.TrainingJob,
        namespace=namespace,
        fields=fields,
        resource_version=listed.resourceVersion,
    )
    async with aclosing(cast("AsyncGenerator[tuple[str, Any], None]", events)) as changes:
        async for kind, item in changes:
            if kind == "DELETED":
                raise GoneError(f"{name} was deleted")
            yield Job(dict(item))


async def pods(api: AsyncClient, of: Job) -> AsyncGenerator[Manifest, None]:
    """The job's pods now, and each at each change, for ever."""
    failures = 0
    while True:
        try:
            async with aclosing(_pods(api, of)) as changing:
                async for pod in changing:
                    failures = 0
                    yield pod
        except (httpx2.HTTPError, ValueError) as error:
            if not passing(error):
                raise translated(error) from error
            await _pause(failures)
            failures += 1


async def _pods(api: AsyncClient, of: Job) -> AsyncGenerator[Manifest, None]:
    chosen: dict[str, Any] = {labels.JOB_UID: of.uid}
    listed = api.list(kinds.Pod, namespace=of.namespace, labels=chosen)
    async for pod in listed:
        yield dict(pod)
    version = listed.resourceVersion
    events = api.watch(kinds.Pod, namespace=of.namespace, labels=chosen, resource_version=version)
    async with aclosing(cast("AsyncGenerator[tuple[str, Any], None]", events)) as changes:
        async for kind, pod in changes:
            if kind != "DELETED":
                yield dict(pod)


async def steady(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer; a connection that breaks meanwhile is none, so it is asked for again."""
    for seconds in _AGAIN:
        try:
            return await ask()
        except httpx2.TransportError:
            await asyncio.sleep(seconds)
    return await ask()


async def _pause(failures: int) -> None:
    await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])


def passing(error: Exception) -> bool:
    """True for what may be over in a moment: no answer or half of one, a busy server, an old watch.

    A ValueError is an answer that cannot be read.
    """
    if not isinstance(error, httpx2.HTTPStatusError):
        return True
    status = getattr(error, "status", None)
    code = status.code if status is not None else error.response.status_code
    return code in _PASSING or code >= httpx2.codes.INTERNAL_SERVER_ERROR
