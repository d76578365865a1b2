"""Who reads a stream, asked about again and again: a right that was taken away ends it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from trainingjobs.cluster.reviews import User, Wish, get_job, list_jobs
from trainingjobs.cluster.store import Key
from trainingjobs.handlers.answers import NO_LEADER, PROVEN, RefusedError
from trainingjobs.handlers.reports import bearer
from trainingjobs.handlers.standings import Rights

_AGAIN = 20.0
"""Seconds after which it is asked again."""
_NOT_THIS = "you may not get this TrainingJob: ask kubectl auth can-i get trainingjobs"


@dataclass(slots=True, kw_only=True)
class Reader:
    """One stream's."""

    rights: Rights
    token: str = field(repr=False)
    address: str
    clock: Callable[[], float]
    leads: Callable[[], bool]
    leader: Callable[[], str]
    _asked: float = float("-inf")

    async def user(self) -> User:
        """Who it is.

        Raises:
            RefusedError: when the token is nobody's any more.
        """
        return await self.rights.user(self.token, self.address)

    async def is_due(self) -> bool:
        """True when the rights are to be asked about; each time it is asked who leads.

        Raises:
            RefusedError: when this process does not lead any more.
        """
        if not self.leads():
            who = self.leader()
            raise RefusedError(503, f"{NO_LEADER}; {who} leads" if who else NO_LEADER, 1)
        now = self.clock()
        due = now - self._asked >= _AGAIN
        self._asked = now if due else self._asked
        return due

    async def may_list(self, user: User, namespace: str, believed: float | None = None) -> bool:
        """True where the jobs of a namespace may be listed; of all, where it is "".

        Args:
            user: who asks.
            namespace: which one.
            believed: seconds for which a no holds, where that is for longer than a yes.
        """
        wish = list_jobs(namespace)
        return await self.rights.may(user, self.token, wish, self.address, believed)

    async def must_get(self, key: Key) -> None:
        """Ask whether this job may be read.

        Raises:
            RefusedError: when it may not.
        """
        await self.must(get_job(*key), _NOT_THIS)

    async def must(self, wish: Wish, words: str) -> None:
        """Ask whether this may be done.

        Raises:
            RefusedError: when it may not, with these words.
        """
        if not await self.rights.may(await self.user(), self.token, wish, self.address):
            raise RefusedError(403, words)


def token_of(request: web.Request) -> tuple[str, str]:
    """The token that the request shows, and from where."""
    return bearer(request), request.remote or ""


def proven(request: web.Request) -> None:
    """Take in that the API server has said whose it is."""
    request[PROVEN] = True
