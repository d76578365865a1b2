"""Tells people of a job outside of the cluster, beside the work on jobs and never in its way.

What was told is remembered on the status, so a new leader tells nothing twice but what was on its
way just then. Few messages go at a time, each is tried a few times, and then given up with an
event.
"""

import asyncio
import base64
import binascii
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError, NotLeadingError, WebhookError
from trainingjobs.cluster.events import about, identity
from trainingjobs.cluster.store import Key
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.notice import Notice
from trainingjobs.model.spec import Notify
from trainingjobs.model.status import Status
from trainingjobs.status import notify

_LOG = logging.getLogger(__name__)
_PAUSES = (2.0, 10.0, 30.0)
_AT_ONCE = 2
_MOST = 64
"""Of one namespace, which keeps no other waiting: messages in the air, and those that wait as
well. Those beyond are due again at the next look."""
_OFF = "notifications are off in this operator: see the chart's notify.enabled"
REASON = "NotNotified"


class Sends(Protocol):
    """What sends a message."""

    async def send(self, url: str, body: dict[str, Any]) -> None:
        """To this address."""


class Tells(Protocol):
    """What posts an event."""

    async def post(
        self, metadata: dict[str, Any], notices: Iterable[Notice], attempt: int = 0
    ) -> None:
        """About an attempt of a job."""


@dataclass(slots=True, kw_only=True)
class Notifier:
    """Messages on their way, and those whose jobs do not know yet that they were sent."""

    api: Api
    webhook: Sends | None
    """None where notifications are off."""
    recorder: Tells
    wake: Callable[[Key], None]
    leads: Callable[[], bool]
    clock: Callable[[], datetime]
    _going: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    _done: dict[str, set[str]] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    _rooms: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    def note(self, job: TrainingJob, status: Status) -> Status:
        """The status with what was told; what is due is sent beside."""
        if job.spec.notify is None:
            return status
        done = self._done.get(job.uid, set()) - set(job.status.notified)
        for moment in notify.due(job, self.clock()):
            known = (job.uid, moment) in self._going or moment in done
            if not known and self._counts[job.namespace] < _MOST:
                self._begin(job, moment)
        self._done.pop(job.uid, None)
        if done:
            self._done[job.uid] = done
        return notify.told(status, done)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._done.pop(uid, None)

    async def stop(self) -> None:
        """Send nothing more."""
        tasks = list(self._going.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, job: TrainingJob, moment: str) -> None:
        task = asyncio.create_task(self._tell(job, moment))
        self._going[job.uid, moment] = task
        self._counts[job.namespace] += 1
        task.add_done_callback(lambda _: self._end(job, moment))

    def _end(self, job: TrainingJob, moment: str) -> None:
        self._going.pop((job.uid, moment), None)
        self._counts[job.namespace] -= 1
        if not self._counts[job.namespace]:
            del self._counts[job.namespace]
            self._rooms.pop(job.namespace, None)

    async def _tell(self, job: TrainingJob, moment: str) -> None:
        told = False
        try:
            told = await self._tried(job, moment)
        except WebhookError as error:
            told = await self._give_up(job, moment, str(error))
        except Exception as error:  # noqa: BLE001  it must not come again for ever
            # its own words, and a traceback, may have the address
            words = f"an error of the operator ({type(error).__name__})"
            told = await self._give_up(job, moment, words)
        if told:
            self._done.setdefault(job.uid, set()).add(moment)
            self.wake(job.key)

    async def _give_up(self, job: TrainingJob, moment: str, why: str) -> bool:
        words = f"nobody was told of {moment.partition('-')[0]}: {why}"
        _LOG.warning("%s", words, extra=about(job))
        notice = Notice(type="Warning", reason=REASON, message=words)
        with suppress(NotLeadingError):
            await self.recorder.post(identity(job), (notice,), job.attempt)
        return True

    async def _tried(self, job: TrainingJob, moment: str) -> bool:
        """True once it was taken; false where another process leads now, who tells it.

        Raises:
            WebhookError: when it is given up.
        """
        for seconds in (*_PAUSES, None):
            if not self.leads():
                return False
            try:
                async with self._rooms.setdefault(job.namespace, asyncio.Semaphore(_AT_ONCE)):
                    await self._send(job, moment)
            except WebhookError as error:
                if error.forever or seconds is None:
                    raise
                await asyncio.sleep(seconds)
            else:
                _LOG.info("told of %s", moment, extra=about(job))
                return True
        return False

    async def _send(self, job: TrainingJob, moment: str) -> None:
        if self.webhook is None:
            raise WebhookError(_OFF, forever=True)
        assert job.spec.notify is not None  # noqa: S101  nobody is told otherwise
        url = await self._address(job.namespace, job.spec.notify)
        await self.webhook.send(url, notify.body(job, moment))

    async def _address(self, namespace: str, asked: Notify) -> str:
        place = f"the Secret {asked.secret_name}"
        try:
            path = f"{paths.secrets(namespace)}/{asked.secret_name}"
            found = await self.api.request("GET", path)
        except ApiError as error:
            if error.status == errors.NOT_FOUND:
                raise WebhookError(f"{place} is not there") from None
            if error.status == errors.FORBIDDEN:
                words = f"the operator may not get {place}: see docs/notify.md"
                raise WebhookError(words, forever=True) from None
            raise WebhookError(f"{place} could not be read") from None
        value = (found.get("data") or {}).get(asked.secret_key)
        if value is None:
            raise WebhookError(f"{place} has no key {asked.secret_key}", forever=True)
        try:
            return base64.b64decode(value, validate=True).decode().strip()
        except (binascii.Error, UnicodeDecodeError):
            raise WebhookError(f"{place} has no text as {asked.secret_key}") from None
