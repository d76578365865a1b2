"""What begins with the lead and ends with it; the watches and the memory go on in any case.

A standby sees all that the leader sees, and so can go on at once. It looks at no job, hears no
report and writes nothing: what it would be woken for is looked at when it leads.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trainingjobs.cluster.api import Api
from trainingjobs.cluster.badge import Badge
from trainingjobs.cluster.election import Candidate, Election, clock
from trainingjobs.cluster.events import Recorder
from trainingjobs.cluster.notifier import Notifier
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers.health import Progress
from trainingjobs.handlers.resync import Resync
from trainingjobs.handlers.workqueue import Queue
from trainingjobs.model import labels, lease
from trainingjobs.settings import Settings

_CHANCE_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidacy:
    """One process's standing for the Lease, with the label that tells of it."""

    election: Election
    badge: Badge | None


def candidacy(settings: Settings, api: Api, today: Callable[[], datetime]) -> Candidacy | None:
    """The candidacy that the settings ask for; none where the operator is alone.

    Its requests have connections of their own: jobs' writes keep no renewal waiting, and the
    gate that stands before those asks this election.
    """
    if not settings.lease:
        return None
    namespace, _, name = settings.lease.partition("/")
    me = _identity(secrets.token_hex(_CHANCE_BYTES))
    who = Candidate(namespace=namespace, name=name, me=me, clock=clock, today=today)
    election = Election(api, who)
    # without the roll call nobody has to find the leader
    badge = Badge(api, namespace, instance(), election.holds) if settings.report_url else None
    return Candidacy(election=election, badge=badge)


def _identity(chance: str) -> str:
    """This process's name on the Lease; two of one machine are no heirs of each other."""
    pod = os.environ.get("POD_NAME")
    return lease.identity(pod or f"{socket.gethostname()}.{chance}", chance)


def instance() -> str:
    """The name of this process: the pod's; kopf's own has a user's in it, which few uids have."""
    return os.environ.get("POD_NAME") or socket.gethostname()


@dataclass(slots=True, kw_only=True)
class Office:
    """The leader's duties, and who has them."""

    queue: Queue[Key]
    store: Store
    rolls: Rolls
    recorder: Recorder
    notifier: Notifier
    progress: Progress
    resync: Resync
    stands: Candidacy | None = None
    """None where this operator is alone."""
    serves: bool = False
    """True while jobs are looked at here."""

    def leads(self) -> bool:
        """True while this process leads."""
        return self.serves and (self.stands is None or self.stands.election.holds())

    def answers(self) -> bool:
        """True once it is known who leads, or nobody has to."""
        return self.stands is None or self.stands.election.stands

    def leader(self) -> str:
        """Who leads, as far as it is known here."""
        return instance() if self.stands is None else self.stands.election.holder

    def wake(self, key: Key) -> None:
        """Look at the job, where that is ours to do."""
        if self.serves:
            self.queue.wake(key)

    def work(self, served: asyncio.Event) -> list[Coroutine[Any, Any, None]]:
        """What goes on until it is cancelled; who is alone leads from the start."""
        if self.stands is None:
            self._start()
            return [self._alone(served)]
        badge = [] if self.stands.badge is None else [self.stands.badge.keep()]
        return [self._stand(self.stands.election, served), *badge]

    async def prepare(self) -> None:
        """Take off the label of the process that was in this pod before."""
        badge = None if self.stands is None else self.stands.badge
        if badge is not None and not await badge.tell():
            badge.change()

    async def release(self) -> None:
        """Let another one lead at once."""
        if self.stands is not None:
            await self.stands.election.release()

    def begin(self, predecessor: str) -> None:
        """Lead: look at all jobs, by what the watches have told.

        What vanished while a watch began anew is told to nobody: lists follow, not awaited.
        """
        self.rolls.forget_all()
        self._start()
        self.progress.begin()
        for body in self.store.jobs():
            self.wake((body["metadata"]["namespace"], body["metadata"]["name"]))
        self.resync.lapsed(labels.PLURAL)
        self.resync.lapsed("pods")
        self._tell(predecessor)

    async def end(self) -> None:
        """Lead no more: every look is over, and nothing is kept that another leader may change."""
        self.serves = False
        await self.queue.stop()
        await self.notifier.stop()
        self.progress.end()
        self.rolls.forget_all()
        self.recorder.forget_counts()
        self._tell()

    def _start(self) -> None:
        self.serves = True
        self.queue.start()

    async def _alone(self, served: asyncio.Event) -> None:
        await served.wait()
        self.progress.begin()
        await asyncio.Event().wait()

    async def _stand(self, election: Election, served: asyncio.Event) -> None:
        """Stand for the lead once all that is there has been listed: nobody leads from nothing."""
        await served.wait()
        await election.run(self)

    def _tell(self, predecessor: str = "") -> None:
        if self.stands is not None and self.stands.badge is not None:
            self.stands.badge.change(predecessor)
