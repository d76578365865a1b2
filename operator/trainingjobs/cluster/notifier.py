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
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError, NotLeadingError, WebhookError
from trainingjobs.cluster.events import about, identity
from trainingjobs.cluster.store import Key
from trainingjobs.cluster.turns import Turns
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
well. The jobs of those beyond are looked at again, one whenever there is room."""
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
    _turns: Turns = field(default_factory=Turns)
    _gone: set[str] = field(default_factory=set)
    """Jobs that went while a message was on its way: nothing of them is kept when it ends."""

    def note(self, job: TrainingJob, status: Status) -> Status:
        """The status with what was told; what is due is sent beside."""
        if job.spec.notify is None:
            return status
        self._gone.discard(job.uid)
        done = self._done.get(job.uid, set()) - set(job.status.notified)
        now = self._turns.since(job.uid) or self.clock()
        going = [self._begin(job, it) for it in notify.due(job, now) if it not in done]
        if all(going):
            self._turns.leave(job.uid)
        else:
            self._turns.join(job.key, job.uid, now)
        self._done.pop(job.uid, None)
        if done:
            self._done[job.uid] = done
        self._call(job.namespace)
        return notify.told(status, done)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._done.pop(uid, None)
        if any(it == uid for it, _ in self._going):
            self._gone.add(uid)
        key = self._turns.leave(uid)
        if key is not None:
            self._call(key[0])

    async def stop(self) -> None:
        """Send nothing more, until jobs are looked at again; what was told stays known."""
        self._turns.clear()
        tasks = list(self._going.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, job: TrainingJob, moment: str) -> bool:
        """True when it is on its way; false where there is no room."""
        if (job.uid, moment) in self._going:
            return True
        if self._counts[job.namespace] >= _MOST:
            return False
        task = asyncio.create_task(self._tell(job, moment))
        self._going[job.uid, moment] = task
        self._counts[job.namespace] += 1
        task.add_done_callback(lambda _: self._end(job, moment))
        return True

    def _end(self, job: TrainingJob, moment: str) -> None:
        self._going.pop((job.uid, moment), None)
        self._counts[job.namespace] -= 1
        if not self._counts[job.namespace]:
            del self._counts[job.namespace]
            self._rooms.pop(job.namespace, None)
        if all(uid != job.uid for uid, _ in self._going):
            self._gone.discard(job.uid)
        self._call(job.namespace)

    def _call(self, namespace: str) -> None:
        """Where there is room: a look at the next that was turned away.

        That look, or that the job is gone, calls the one after.
        """
        key = self._turns.call(namespace) if self._counts[namespace] < _MOST else None
        if key is not None:
            self.wake(key)

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
        if told and job.uid not in self._gone:
            self._done.setdefault(job.uid, set()).add(moment)
            self.wake(job.key)

    async def _give_up(self, job: TrainingJob, moment: str, why: str) -> bool:
        words = f"nobody was told of {moment.partition('-')[0]}: {why}"
        _LOG.warning("%s", words, extra=about(job))
        notice = Notice(type="Warning", reason=REASON, message=words)
        try:
            await self.recorder.post(identity(job), (notice,), job.attempt)
        except NotLeadingError:
            return False
        return True

    async def _tried(self, job: TrainingJob, moment: str) -> bool:
        """True once it was taken; false where another process leads now, who tells it.

        Raises:
            WebhookError: when it is given up.
        """
        for seconds in (*_PAUSES, None):
            try:
                async with self._rooms.setdefault(job.namespace, asyncio.Semaphore(_AT_ONCE)):
                    sent = await self._send(job, moment)
            except WebhookError as error:
                if error.forever or seconds is None:
                    raise
                await asyncio.sleep(seconds)
            else:
                if sent:
                    _LOG.info("told of %s", moment, extra=about(job))
                return sent
        return False

    async def _send(self, job: TrainingJob, moment: str) -> bool:
        """False where another process leads by now: the lead may go during each wait."""
        if not self.leads():
            return False
        if self.webhook is None:
            raise WebhookError(_OFF, forever=True)
        assert job.spec.notify is not None  # noqa: S101  nobody is told otherwise
        url = await self._address(job.namespace, job.spec.notify)
        if not self.leads():
            return False
        await self.webhook.send(url, notify.body(job, moment))
        return True

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
