"""`doctor --try`: a job of short pods, which is taken away when it has been seen."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainingjobs.cli import meeting, screen
from trainingjobs.cli.commands import describing, waiting
from trainingjobs.cli.views import why
from trainingjobs.cli.views.health import Check
from trainingjobs.client import script as scripts
from trainingjobs.client.errors import ClientError, NotFoundError
from trainingjobs.client.job import Manifest
from trainingjobs.client.script import Script

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

_ABOUT = "try"
_FILE = "doctor.py"
_PULLED = "Successfully pulled"
"""How a kubelet begins to tell of an image that was not there."""


def meeting_of(image: str, count: int, needs: dict[str, Any]) -> Script:
    """What is run in so many pods.

    Args:
        image: of the pods; it has a Python.
        count: pods of the group.
        needs: of each pod, as a script has them: cpus, memory, gpus, user.
    """
    text = Path(meeting.__file__).read_text(encoding="utf-8")
    return Script(files={_FILE: text}, image=image, instances=count, max_restarts=0, **needs)


async def tried(script: Script, seconds: float, say: str) -> Check:
    """What became of it within so many seconds; `say` is what people type to call this program."""
    name = scripts.name(_FILE, secrets.token_hex(2))
    async with screen.connect() as client:
        try:
            await client.train(script, name)
            try:
                return await _seen(client, name, script, seconds, say)
            finally:
                with suppress(NotFoundError):
                    await client.delete_job(name)
        except ClientError as error:
            return Check(_ABOUT, "bad", f"no job could be run: {error}")


async def _seen(
    client: "AsyncTrainingJobClient", name: str, script: Script, seconds: float, say: str
) -> Check:
    began = time.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting.reached(client, name)
    took = time.monotonic() - began
    job = await client.get_job(name)
    events = await describing.events_of(client, job)
    if job.succeeded:
        return Check(_ABOUT, "ok", f"{met(script, events)}: {took:.0f} s in all")
    said = why.paragraph(job, events, datetime.now(UTC), say)
    return Check(_ABOUT, "bad", said if job.finished else f"not over after {seconds:g} s: {said}")


def met(script: Script, events: Sequence[Manifest]) -> str:
    """A group that came together, in words; the events are those of its pods."""
    pulled = sum(event.get("count") or 1 for event in events if _is_pull(event, script.image))
    image = f"{pulled} pulled it" if pulled else "no node had to pull it"
    if script.instances == 1:
        return f"a pod ran {script.image} ({image})"
    met = "all workers found their master by name"
    return f"{script.instances} pods ran {script.image} ({image}), and {met}"


def _is_pull(event: Manifest, image: str) -> bool:
    words = str(event.get("message") or "")
    return words.startswith(_PULLED) and f'"{image}"' in words
