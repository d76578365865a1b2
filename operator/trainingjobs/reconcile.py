"""The whole story of a job in one place: look, decide, act, look again, report, clean up.

It is level-triggered: which event woke it changes nothing, and running it once too often
does nothing. All it remembers between two runs are paces and pauses; losing them costs a
request, never a pod.
"""

import dataclasses
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from trainingjobs.cluster import status as statuses
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.backoff import Backoff
from trainingjobs.cluster.events import Recorder, about, identity
from trainingjobs.cluster.notifier import Notifier
from trainingjobs.cluster.observe import observe
from trainingjobs.cluster.pace import Pace
from trainingjobs.cluster.refusals import Refusals
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.store import Key, Manifest, Store
from trainingjobs.model.job import Invalid, TrainingJob, parse
from trainingjobs.model.notice import Notice
from trainingjobs.model.observed import Problem, Trouble
from trainingjobs.model.site import Site
from trainingjobs.plan.decide import decide
from trainingjobs.plan.decision import Decision
from trainingjobs.status.notices import notices

_LOG = logging.getLogger(__name__)
_UNFINISHED_SECONDS = 1.0
_TAKEN = {Trouble.CONFLICT, Trouble.LEFTOVER}
_LARGE = 100
"""So many pods take a second or more to be made; nobody waits that long for a first word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """All that reaches out to the API server on behalf of a job."""

    store: Store
    applier: Applier
    writer: statuses.Writer
    recorder: Recorder
    rolls: Rolls | None = None
    """What processes have reported; none where the roll call is off."""
    notifier: Notifier | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    refusals: Refusals = field(default_factory=lambda: Refusals(Backoff(), time.monotonic))
    pace: Pace = field(default_factory=lambda: Pace(time.monotonic))


class Reconciler:
    """Brings one job after the other closer to what its user asked for."""

    def __init__(self, hands: Hands, site: Site) -> None:
        self._hands = hands
        self._site = site
        self._uids: dict[Key, str] = {}
        self._complained: dict[str, int] = {}

    async def reconcile(self, key: Key) -> datetime | None:
        """Take the next step of a job; returns when to look again if nothing happens before.

        Raises:
            ApiError: when the API server refuses what should always work.
        """
        body = self._hands.store.job(key)
        self._remember(key, body)
        if body is None:
            return None
        job = parse(body)
        if isinstance(job, Invalid):
            await self._complain(body, job)
            return None
        if not job.ours:
            return None
        if await self._announce(job):
            return await self.reconcile(key)
        if job.status.finished and self._hands.rolls is not None:
            self._hands.rolls.forget(job.uid)
        decision = self._noted(job, await self._act(job))
        await self._keep(job, decision)
        if not await self._report(job, decision):
            return self._hands.clock()
        await self._clean_up(job, decision)
        return self._next_look(job, decision)

    async def _announce(self, job: TrainingJob) -> bool:
        """True when a large group has just told that its many pods are on their way."""
        if job.status.phase is not None or job.size < _LARGE:
            return False
        decision = self._decide(job, self._hands.refusals.standing(job))
        if not self._hands.writer.differs(job, decision.status):
            return False
        return await self._report(job, decision)

    async def _act(self, job: TrainingJob) -> Decision:
        """Make what is missing; the decision about what is there then."""
        held = self._hands.refusals.standing(job)
        decision = self._decide(job, held)
        if held:
            return decision
        if not decision.makes:
            self._hands.refusals.forget(job.uid)
            return decision
        refused = await self._create(job, decision)
        after = self._decide(job, refused)
        if not refused and after.change:
            refused = tuple(map(_changed_back, after.change))
            after = self._decide(job, refused)
        self._hands.refusals.note(job, refused)
        return after

    def _noted(self, job: TrainingJob, decision: Decision) -> Decision:
        """The same, with what people outside of the cluster were told meanwhile."""
        notifier = self._hands.notifier
        if notifier is None:
            return decision
        return dataclasses.replace(decision, status=notifier.note(job, decision.status))

    def _decide(self, job: TrainingJob, problems: tuple[Problem, ...]) -> Decision:
        seen = dataclasses.replace(
            observe(self._hands.store, job, self._hands.rolls), problems=problems
        )
        return decide(job, seen, self._hands.clock(), self._site)

    async def _create(self, job: TrainingJob, decision: Decision) -> tuple[Problem, ...]:
        applier = self._hands.applier
        refused = await applier.check(job, decision.check)
        refused = refused or await applier.change(job, decision.change)
        refused = refused or await self._offer(job, decision)
        # the next try after a refusal begins with one create, not with all at once
        careful = self._hands.refusals.seconds_left(job.uid) is not None
        refused = refused or await applier.create(job, decision.create, carefully=careful)
        if refused:
            _LOG.warning("refused: %s", refused[0].message, extra=about(job))
        else:
            made = len(decision.create), len(decision.change)
            _LOG.info("created %d objects, changed %d", *made, extra=about(job))
        return refused

    async def _offer(self, job: TrainingJob, decision: Decision) -> tuple[Problem, ...]:
        """Make what the job can do without; only the name of somebody else's object stops it."""
        refused = await self._hands.applier.offer(job, decision.offer)
        taken = tuple(problem for problem in refused if problem.trouble in _TAKEN)
        if refused and not taken:
            words = f"the pods run without the roll call, {refused[0].name} was refused"
            await self._warn(job, "RollCallOff", f"{words}: {refused[0].message}")
        return taken

    async def _keep(self, job: TrainingJob, decision: Decision) -> None:
        """Keep what dies with the pods, as far as that can be."""
        if not decision.keep:
            return
        refused = await self._hands.applier.offer(job, decision.keep)
        if refused:
            words = f"the stacks could not be kept: {refused[0].message}"
            await self._warn(job, "StacksNotKept", words)

    async def _warn(self, job: TrainingJob, reason: str, words: str) -> None:
        _LOG.warning("%s: %s", reason, words, extra=about(job))
        notice = Notice(type="Warning", reason=reason, message=words)
        await self._hands.recorder.post(identity(job), (notice,), job.attempt)

    async def _report(self, job: TrainingJob, decision: Decision) -> bool:
        """Write the status if it differs; false when the job has changed meanwhile."""
        old, new, pace = job.status, decision.status, self._hands.pace
        if not self._hands.writer.differs(job, new):
            pace.settled(job.uid)
            return True
        hurry = statuses.hurry(old, new)
        if not decision.acts and pace.must_wait(job.uid, hurry, new.instances):
            return True
        if not await self._hands.writer.write(job, new):
            return False
        pace.wrote(job.uid)
        if old.phase is not new.phase:
            _LOG.info("%s: %s", new.phase, new.message or new.ready, extra=about(job))
        await self._hands.recorder.post(identity(job), notices(old, new), new.attempt)
        return True

    async def _clean_up(self, job: TrainingJob, decision: Decision) -> None:
        if decision.delete:
            _LOG.info("deleting %d pods", len(decision.delete), extra=about(job))
            await self._hands.applier.delete(job, decision.delete)
        await self._hands.applier.delete_groups(job, decision.delete_groups)
        if decision.delete_job:
            _LOG.info("deleting the job: its time to live is over", extra=about(job))
            await self._hands.applier.delete_job(job)

    def _next_look(self, job: TrainingJob, decision: Decision) -> datetime | None:
        now = self._hands.clock()
        unfinished = _UNFINISHED_SECONDS if decision.makes else None
        over = decision.status.finished
        pause = None if over else self._hands.refusals.seconds_left(job.uid)
        waits = [self._hands.pace.seconds_left(job.uid), unfinished if pause is None else pause]
        times = [now + timedelta(seconds=wait) for wait in waits if wait is not None]
        return min([*times, *([decision.wake_at] if decision.wake_at else [])], default=None)

    async def _complain(self, body: Manifest, why: Invalid) -> None:
        """Say once per change of the spec that this operator cannot read it."""
        metadata = body["metadata"]
        if self._complained.get(metadata["uid"]) == metadata.get("generation"):
            return
        self._complained[metadata["uid"]] = metadata.get("generation")
        about = {"job": metadata["name"], "namespace": metadata["namespace"]}
        _LOG.warning("the spec cannot be read: %s", why, extra=about)
        notice = Notice(type="Warning", reason="InvalidSpec", message=str(why))
        await self._hands.recorder.post(metadata, (notice,))

    def _remember(self, key: Key, body: Manifest | None) -> None:
        """Forget the paces and pauses of a job that is gone."""
        uid = None if body is None else body["metadata"]["uid"]
        before = self._uids.pop(key, None)
        if uid is not None:
            self._uids[key] = uid
        if before not in {None, uid}:
            self._forget(str(before))

    def _forget(self, uid: str) -> None:
        self._complained.pop(uid, None)
        self._hands.writer.forget(uid)
        self._hands.refusals.forget(uid)
        self._hands.pace.forget(uid)
        if self._hands.notifier is not None:
            self._hands.notifier.forget(uid)
        if self._hands.rolls is not None:
            self._hands.rolls.forget(uid)


def _changed_back(patch: Manifest) -> Problem:
    """What was changed and is not as wanted: whoever else changes it is not fought without end."""
    words = "somebody changes it back at once"
    return Problem(trouble=Trouble.UNCHANGED, name=patch["metadata"]["name"], message=words)
