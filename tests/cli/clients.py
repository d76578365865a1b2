"""A client without a cluster: one job that goes its way, and what its ranks say."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any, Self

from cli.given import a_seen_job
from trainingjobs.client.errors import NotFoundError
from trainingjobs.client.job import Job, Manifest
from trainingjobs.client.lines import LogLine


def a_state(phase: str, *, uid: str = "u1", namespace: str = "lab", size: int = 3) -> Job:
    """The job in this phase."""
    job = a_seen_job(size, status={"phase": phase})
    metadata = {**job.metadata, "uid": uid, "namespace": namespace}
    return replace(job, manifest={**job.manifest, "metadata": metadata})


class FakeClient:
    """The methods that commands use; the job is gone once its last state was seen."""

    def __init__(self, *states: Job, said: int = 2, wrong: Exception | None = None) -> None:
        self.namespace = "lab"
        self.states = list(states)
        self.said, self.wrong = said, wrong
        self.pods: Sequence[Manifest] = ()
        self.created: list[Manifest] = []
        self.asked: list[str] = []
        self.closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def create_job(self, manifest: Manifest) -> Job:
        """The job in the manifest's namespace."""
        self.created.append(manifest)
        where = (manifest.get("metadata") or {}).get("namespace") or self.namespace
        return Job({**self.states[0].manifest, "metadata": {**self._me(), "namespace": where}})

    async def train(self, script: Any, name: str | None = None) -> str:
        """Its name."""
        del script, name
        return self.states[0].name

    async def get_job(self, name: str) -> Job:
        """The first state, before its logs were read."""
        self.asked.append(self.namespace)
        if self.closed:
            raise NotFoundError(f"no job {name}")
        return self.states[0]

    async def watch_job(self, name: str) -> AsyncGenerator[Job, None]:
        """Every state, and then an error: it was deleted."""
        self.asked.append(self.namespace)
        while self.states:
            yield self.states.pop(0)
        raise NotFoundError(f"no job {name}")

    async def get_job_pods(self, job: Job) -> Sequence[Manifest]:
        """Those that were given."""
        del job
        return self.pods

    async def get_job_logs(self, name: str, **chosen: Any) -> AsyncGenerator[LogLine, None]:
        """Some lines, or the error."""
        del name, chosen
        self.asked.append(self.namespace)
        if self.wrong is not None:
            raise self.wrong
        try:
            for number in range(self.said):
                yield LogLine(rank=0, attempt=1, pod="mnist-master", time="", text=f"line {number}")
        finally:
            self.closed = True

    def _me(self) -> Manifest:
        return self.states[0].metadata
