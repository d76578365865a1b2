"""What the operator hears of a job's ranks, asked every two seconds for as long as one looks."""

import asyncio
from typing import TYPE_CHECKING

from trainingjobs.cli import screen
from trainingjobs.client import live
from trainingjobs.client.errors import ClientError, NotInstalledError, RefusedError
from trainingjobs.client.job import Job, Manifest

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

_SECONDS = 2.0
_PAUSE = 10.0


class Heard:
    """The latest answer, and why there is none."""

    def __init__(self, client: "AsyncTrainingJobClient", account: str) -> None:
        self._client, self._account = client, account
        self._asking: asyncio.Task[None] | None = None
        self.whole: Manifest | None = None
        self.wrong = ""
        """Why nothing is heard, in words; empty while something is."""

    def begin(self, job: Job) -> None:
        """Ask from now on."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask(job))

    async def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def once(self, job: Job) -> None:
        """Ask one time."""
        try:
            raw = self._client.raw
            async with live.opened(raw, job.namespace, self._account, screen.note) as operator:
                self.whole = await operator.whole(job.namespace, job.name)
                self.wrong = ""
        except ClientError as error:
            self.whole, self.wrong = None, str(error)

    async def _ask(self, job: Job) -> None:
        """Until it is closed, or it is sure that nobody will tell."""
        while True:
            try:
                await self._on_and_on(job)
            except ClientError as error:
                self.whole, self.wrong = None, str(error)
                if isinstance(error, (RefusedError, NotInstalledError)):
                    return
                await asyncio.sleep(_PAUSE)

    async def _on_and_on(self, job: Job) -> None:
        async with live.opened(self._client.raw, job.namespace, self._account) as operator:
            while True:
                self.whole = await operator.whole(job.namespace, job.name)
                self.wrong = ""
                await asyncio.sleep(_SECONDS)
