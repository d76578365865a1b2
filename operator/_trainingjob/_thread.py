"""The one thread of the reporter: when to speak, and to whom.

The user's threads talk to it through a SimpleQueue, which is safe in signal handlers too, and
never wait for it, save for a moment at the end. It imports nothing and takes no lock, so a fork
at any moment finds nothing held.
"""

from __future__ import annotations

import os
import random
import signal
import time
from _queue import Empty, SimpleQueue  # those of queue may be replaced by gevent
from _thread import get_native_id

from _trainingjob import _identity, _wire
from _trainingjob._finder import sleep, start_new_thread
from _trainingjob._frames import main_stack
from _trainingjob._guard import debug, quiet
from _trainingjob._sender import Outcome, Sender, encode
from _trainingjob._standing import ENDED, ME, Standing

LARGE = 200
"""Ranks from which early reports are spread: the operator hears so many in a second."""
LAST_SPREAD = 0.3
"""Seconds over which a large group spreads its last words."""
GAP = 0.25
"""Seconds between two reports, however much happens."""
PATIENCE = 60.0
"""Seconds between two tries at most, when nobody answers."""
SETTLING = 0.5
"""Seconds before the first report: a process that is gone by then was no training."""

OTHERS_SIGNALS = signal.valid_signals() - {
    signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT,
}  # fmt: skip
"""Signals are for the user's threads: none of them may be woken in place of the main thread."""

_CHANCE = random.Random(os.urandom(8))  # noqa: S311  (jitter; the user's own seed stays untouched)


class Reporter:
    """Reports on one process until it ends."""

    def __init__(self, url: str) -> None:
        self.sender = Sender(url)
        self.calls: SimpleQueue[str] = SimpleQueue()
        self.done: SimpleQueue[bool] = SimpleQueue()
        self.interval = max(1.0, (ME.now.world or 1) / LARGE)
        self.failures = 0
        self.heard = 0
        self.not_before = 0.0
        """Until then, news wait; only an exception and the end do not."""
        # not one of threading's: programs that join all of those would wait for this one
        start_new_thread(self._run, ())

    def _run(self) -> None:
        if get_native_id() == os.getpid():  # no thread, but a piece of the user's main thread
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, OTHERS_SIGNALS)
        me = ME.now
        try:
            self._live(me)
        except Exception as error:  # noqa: BLE001  (the thread ends; the user's program goes on)
            debug(f"the reporter has ended: {error!r}")
        me.on = False
        self.done.put(False)  # noqa: FBT003

    def _live(self, me: Standing) -> None:
        urgent = self._wait(SETTLING + self._spread(self.interval))
        while self._may_speak(me):
            stage, outcome = self._send()
            if urgent:
                self.done.put(outcome.heard)
            if stage == ENDED:
                return
            urgent = self._wait(self._pause(outcome))

    def _may_speak(self, me: Standing) -> bool:
        """Whether this process turns out to be one to report; waits until that is clear."""
        while _identity.is_child() and not (me.grouped or self.heard or self.failures):
            task = _identity.task(main_stack())
            if task is not None:
                return task == "rank"
            if me.stage == ENDED:  # a helper's library catches its exceptions
                return bool(me.error)
            self._wait(GAP)
        return True

    def _send(self) -> tuple[str | None, Outcome]:
        """The stage that was told, which need not be the stage of now any more."""
        stage = None
        try:
            report = _wire.report()
            stage = report.get("stage")
            outcome = self.sender.send(encode(report))
        except Exception as error:  # noqa: BLE001  (the user's threads change what is read here)
            debug(f"no report this time: {error!r}")
            outcome = Outcome(heard=True)
        self.heard += outcome.heard
        self.failures = 0 if outcome.heard else self.failures + 1
        return stage, outcome

    def _pause(self, outcome: Outcome) -> float:
        now = time.monotonic()
        if outcome.heard:
            self.not_before = now + GAP
            self.interval = max(1.0, outcome.after or self.interval)
            return self.interval * _CHANCE.uniform(0.9, 1.1)
        longer = min(PATIENCE, self.interval * 2.0 ** min(self.failures, 10))
        pause = max(outcome.after or 0.0, longer * _CHANCE.uniform(0.5, 1.0))
        self.not_before = now + min(pause, outcome.after or 2.0**self.failures)
        return pause

    def _spread(self, seconds: float) -> float:
        """Nothing for a small group; some part of these seconds for each rank of a large one."""
        return _CHANCE.uniform(0, seconds) if (ME.now.world or 1) > LARGE else 0.0

    def _wait(self, seconds: float) -> bool:
        """Until it is time, or something has happened; true if somebody waits for the report."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            try:
                call = self.calls.get(timeout=left) if left > 0 else self.calls.get_nowait()
            except Empty:
                return False
            if call == "urgent":
                sleep(self._spread(LAST_SPREAD))
                return True
            soon = time.monotonic() + self._spread(self.interval / 5)
            until = min(until, max(soon, self.not_before))

    def flush(self, seconds: float) -> None:
        """Have the report of now sent, and wait for that a moment; for the end of things."""
        while not self.done.empty():
            self.done.get_nowait()
        self.calls.put("urgent")
        try:
            self.done.get(timeout=seconds)
        except Empty:
            debug("the last report was not heard in time")

    def is_worth_a_word(self) -> bool:
        """A process that was nothing but started, and not for long, is left unsaid."""
        return bool(self.heard or ME.now.error or ME.now.reached - {ENDED})


class Line:
    """Where the running reporter is found, if there is one."""

    reporter: Reporter | None = None


LINE = Line()


@quiet
def stage(name: str) -> None:
    """The process has come to a stage: say so soon."""
    if ME.now.reach(name):
        changed()


def changed() -> None:
    """Something is new that should not wait for the next report."""
    if LINE.reporter is not None and ME.now.on:
        LINE.reporter.calls.put("soon")
