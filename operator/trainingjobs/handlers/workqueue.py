"""Which job is looked at next: one run per job at a time, however many events ask for it.

Events are doorbells. A bell that rings while its job is being looked at makes for one more
look, not for one per ring; and a job that rings without end gets a share of the one core
that we have, so that the others get theirs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from trainingjobs.cluster.backoff import Backoff
from trainingjobs.cluster.errors import ApiError, NotLeadingError
from trainingjobs.handlers import vigil
from trainingjobs.handlers.lines import Lines
from trainingjobs.handlers.share import Metered

K = TypeVar("K", bound=Hashable)

_LOG = logging.getLogger(__name__)
_REST = 4.0
"""A job that is asked for all the time rests four times as long as its last look took."""
_LONGEST_REST = 0.2
_LONGEST_REST_OF_THE_CORE = 5.0
"""What a look computed is rested for in full: that time was nobody else's."""
_FAILED_REST = 1.0
_TIMEOUT = 600.0


@dataclass(slots=True)
class _State:
    """Where one key stands; kept only while there is something to know."""

    queued_at: float | None = None
    running: bool = False
    rung: bool = False
    timer: asyncio.Handle | None = None
    due: float = 0.0
    """When the timer rings, which a handle of uvloop's does not always know."""
    not_before: float = 0.0
    failures: int = 0


class Queue(Generic[K]):
    """Keys that wait to be worked on, each by one worker at a time.

    The work returns in how many seconds it wants to see the key again, or None for not
    before something happens.
    """

    def __init__(
        self,
        work: Callable[[K], Awaitable[float | None]],
        workers: int = 16,
        backoff: Backoff | None = None,
        new: Callable[[K], bool] = lambda _: False,
    ) -> None:
        """Those that are new wait in a line of their own."""
        self._work = work
        self._new = new
        self._workers = workers
        self._backoff = backoff or Backoff()
        self._states: dict[K, _State] = {}
        self._ready: Lines[K] = Lines()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Let the workers begin."""
        self._tasks = [vigil.started(self._serve()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Stop all work where it stands, and forget it; every step of it can be repeated."""
        for task in self._tasks:
            task.cancel()
        for state in self._states.values():
            _cancel(state)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._states.clear()
        self._ready = Lines()

    @property
    def depth(self) -> int:
        """How many keys wait for a worker."""
        return len(self._ready)

    @property
    def longest_wait(self) -> float:
        """For how long the first of them has been waiting."""
        now = _now()
        times = (state.queued_at for state in self._states.values())
        return now - min((time for time in times if time is not None), default=now)

    @property
    def alive(self) -> bool:
        """False when a worker has ended, which none ever does by itself."""
        return not any(task.done() for task in self._tasks)

    def wake(self, key: K) -> None:
        """Look at the key as soon as its turn comes."""
        state = self._states.setdefault(key, _State())
        if state.running:
            state.rung = True
        else:
            self._at(key, state, max(_now(), state.not_before))

    def wake_in(self, key: K, seconds: float) -> None:
        """Look at the key after this time, or earlier if it was to be earlier."""
        self._at(key, self._states.setdefault(key, _State()), _now() + seconds)

    def _at(self, key: K, state: _State, when: float) -> None:
        """The earliest of all wishes wins."""
        if state.queued_at is not None:
            return
        if state.timer is not None and state.due <= when:
            return
        _cancel(state)
        if when <= _now():
            self._enqueue(key, state)
        else:
            loop = asyncio.get_running_loop()
            state.due, state.timer = when, loop.call_at(when, self._ring, key, state)

    def _ring(self, key: K, state: _State) -> None:
        state.timer = None
        if state.running:
            state.rung = True
        elif state.queued_at is None:
            self._enqueue(key, state)

    def _enqueue(self, key: K, state: _State) -> None:
        state.queued_at = _now()
        self._ready.put(key, new=self._new(key))

    async def _serve(self) -> None:
        while True:
            key = await self._ready.get()
            state = self._states[key]
            state.queued_at, state.running, state.rung = None, True, False
            # what was wished for before this look is void: the look says what comes next
            _cancel(state)
            started, look = _now(), Metered(self._try(key, state))
            again = await look
            state.running = False
            rest = _FAILED_REST if state.failures else rest_after(_now() - started, look.seconds)
            self._settle(key, state, rest, again)
            # a look that writes nothing never waits: others, such as who renews the lease, come in
            await asyncio.sleep(0)

    async def _try(self, key: K, state: _State) -> float | None:
        try:
            async with asyncio.timeout(_TIMEOUT):
                again = await self._work(key)
        except Exception as error:  # noqa: BLE001 - whatever it was, the other jobs go on
            state.failures += 1
            delay = self._backoff.delay(state.failures)
            ours = not isinstance(error, (ApiError, NotLeadingError))
            _LOG.error("%s again in %.0f s: %s", key, delay, error, exc_info=ours)
            return delay
        state.failures = 0
        return again

    def _settle(self, key: K, state: _State, rest: float, again: float | None) -> None:
        state.not_before = _now() + rest
        if again is not None:
            self._at(key, state, max(_now() + again, state.not_before))
        if state.rung:
            self._at(key, state, state.not_before)
        # who rings before its rest is over must find that it rests
        asyncio.get_running_loop().call_at(state.not_before, self._forget, key, state)

    def _forget(self, key: K, state: _State) -> None:
        """Keep nothing of a key that has rested and that nothing is to be done about."""
        idle = not state.running and state.timer is None and state.queued_at is None
        if idle and self._states.get(key) is state:
            del self._states[key]


def rest_after(took: float, kept: float) -> float:
    """For how long a job rests after a look that took so long, and kept the core for so long."""
    return max(min(_REST * took, _LONGEST_REST), min(_REST * kept, _LONGEST_REST_OF_THE_CORE))


def _cancel(state: _State) -> None:
    if state.timer is not None:
        state.timer.cancel()
        state.timer = None


def _now() -> float:
    return asyncio.get_running_loop().time()
