"""The client for scripts and notebooks: the asynchronous one, behind plain calls.

It has an event loop of its own in a thread, since a notebook has one running already.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.job import SUCCEEDED, Job, Manifest
from trainingjobs.client.lines import LogLine
from trainingjobs.client.script import Script

T = TypeVar("T")


class TrainingJobClient:
    """Jobs of one cluster; names are Kubeflow's where the meaning is the same."""

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
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = self._made(
            lambda: AsyncTrainingJobClient(
                namespace=namespace, context=context, kubeconfig=kubeconfig
            )
        )
        self.namespace = self._client.namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if not self._loop.is_closed():
            self._run(self._client.close())
            self._stop()

    def list_jobs(self, *, all_namespaces: bool = False) -> list[Job]:
        """The jobs of the namespace, or of all."""
        return self._run(self._client.list_jobs(all_namespaces=all_namespaces))

    def get_job(self, name: str) -> Job:
        """One job as it is now."""
        return self._run(self._client.get_job(name))

    def get_job_events(self, name: str) -> list[Manifest]:
        """What was told of the job, and of its pods, the latest last."""
        return self._run(self._client.get_job_events(self.get_job(name)))

    def get_job_logs(
        self,
        name: str,
        *,
        ranks: Iterable[int] | None = None,
        attempt: int | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[LogLine]:
        """Lines of all ranks in one stream; followed, it ends with the job."""
        return self._iterated(
            self._client.get_job_logs(name, ranks=ranks, attempt=attempt, follow=follow, tail=tail)
        )

    def watch_job(self, name: str) -> Iterator[Job]:
        """The job now and after each change."""
        return self._iterated(self._client.watch_job(name))

    def wait_for_job_status(
        self, name: str, status: Collection[str] = (SUCCEEDED,), timeout: float | None = 600
    ) -> Job:
        """The job, once its phase is one of these.

        Raises:
            TimeoutError: when that takes longer.
            ClientError: when the job ends in another phase.
        """
        return self._run(self._client.wait_for_job_status(name, status, timeout))

    def train(self, script: Script, name: str | None = None) -> str:
        """Run a script as a job; its name."""
        return self._run(self._client.train(script, name))

    def retry_job(self, name: str, new_name: str | None = None) -> str:
        """Run a job that is over anew, beside the old one; the new one's name."""
        return self._run(self._client.retry_job(name, new_name))

    def create_job(self, manifest: Manifest) -> Job:
        """The job that the API server makes of the manifest."""
        return self._run(self._client.create_job(manifest))

    def delete_job(self, name: str) -> None:
        """Delete the job; its pods go with it."""
        self._run(self._client.delete_job(name))

    def _made(self, make: Callable[[], AsyncTrainingJobClient]) -> AsyncTrainingJobClient:
        async def made() -> AsyncTrainingJobClient:
            return make()

        try:
            return self._run(made())
        except BaseException:
            self._stop()
            raise

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of it; an interrupt ends it too."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _iterated(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        reading: asyncio.Task[Any] | None = None

        async def following() -> T:
            nonlocal reading
            reading = asyncio.current_task()
            return await anext(items)

        async def ended() -> None:
            if reading is not None:  # who was interrupted has cancelled it, and it takes a while
                await asyncio.wait([reading])
            await items.aclose()

        try:
            while True:
                try:
                    item = self._run(following())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self._run(ended())

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
