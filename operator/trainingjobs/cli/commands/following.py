"""What was last seen of a job: after its end it may be gone, or another may have its name."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainingjobs.cli import screen
from trainingjobs.client.errors import GoneError
from trainingjobs.client.job import Job

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient


@dataclass(slots=True)
class Seen:
    """One job, as it was seen last."""

    job: Job

    async def watch(
        self, client: "AsyncTrainingJobClient", tell: Callable[[Job], None] | None = None
    ) -> None:
        """Look until it is over.

        Raises:
            GoneError: when it is deleted before.
        """
        async with aclosing(client.watch_job(self.job.name)) as states:
            async for job in states:
                if job.uid != self.job.uid:
                    raise GoneError(f"{job.name} was deleted, and another of its name was made")
                self.job = job
                if job.finished:
                    return
                if tell is not None:
                    tell(job)

    def end(self) -> None:
        """Say how it is."""
        words = f": {self.job.message}" if self.job.message else ""
        screen.note(f"--- {screen.safe(f'{self.job.name} is {self.job.phase}{words}')} ---")


async def followed(
    client: "AsyncTrainingJobClient", job: Job, lines: Awaitable[None], *, whole: bool = True
) -> Job:
    """The job as it was seen last, while its lines are shown; whole, to the job's own end."""
    seen = Seen(job)
    watching = asyncio.create_task(seen.watch(client, teller()))
    try:
        await lines
        if whole:
            await watching
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    seen.end()
    return seen.job


def teller() -> Callable[[Job], None]:
    """Says what the job waits for or stalls at, as long as its ranks say nothing."""
    said = ""

    def tell(job: Job) -> None:
        nonlocal said
        words = screen.safe(f"{job.phase}: {job.message}" if job.message else job.phase)
        silent = job.phase != "Running" or job.holds("Stalled")
        if silent and words and words != said:
            screen.note(f"--- {words} ---")
        said = words

    return tell
