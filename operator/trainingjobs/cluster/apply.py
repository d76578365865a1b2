"""Carries out what was decided; decides nothing.

Every write can be repeated without harm: names are a function of the job and the rank, so
a create that was carried out but whose answer was lost finds its own child, and a delete
names the uid that it means.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from trainingjobs.cluster import answers, errors, paths, pods
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.store import Store
from trainingjobs.model import gang, labels
from trainingjobs.model.gang import GroupSeen
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Problem, Trouble
from trainingjobs.plan.decision import PodRef

Manifest = dict[str, Any]

_OWN = {"fieldManager": labels.COMPONENT_NAME}
_DRY = {"dryRun": "All", "fieldValidation": "Strict", **_OWN}
"""A misspelt field would be dropped without a word: a pod that asks for no GPU trains on none."""

_UNSEEN = {"ConfigMap", "Secret"}
"""Kinds that are made and never watched."""
_AS_SENT = {"Pod", *_UNSEEN}
"""Kinds of which no answer is read whole: a watch tells soon what others have put into a pod."""
_UNREAD = {"Secret"}
"""Kinds of which one that exists is the job's: its name has the uid, and to read it is no right."""


class Applier:
    """Writes a job's objects, with a bounded number of requests in flight."""

    def __init__(self, api: Api, store: Store, parallel: int) -> None:
        self._api = api
        self._store = store
        self._parallel = parallel
        # two jobs may write at full speed; a third shares, so that no big job starves the rest
        self._in_flight = asyncio.Semaphore(2 * parallel)

    async def check(self, job: TrainingJob, manifests: Sequence[Manifest]) -> tuple[Problem, ...]:
        """What the API server would refuse, without making anything."""
        return await self._until_refused(job, manifests, dry=True)

    async def create(
        self, job: TrainingJob, manifests: Sequence[Manifest], *, carefully: bool = False
    ) -> tuple[Problem, ...]:
        """Make what pods rest on, then the pods; the first refusal ends it.

        Carefully, one pod is made before the others: where creates were refused, a single
        one tells whether they still are.
        """
        first = [item for item in manifests if item["kind"] != "Pod"]
        pods_last = [item for item in manifests if item["kind"] == "Pod"]
        alone = 1 if carefully else 0
        for group in (first, pods_last[:alone], pods_last[alone:]):
            refused = await self._until_refused(job, group, dry=False)
            if refused:
                return refused
        return ()

    async def offer(self, job: TrainingJob, manifests: Sequence[Manifest]) -> tuple[Problem, ...]:
        """Make what a job can do without, with one more try where the API server was not there."""
        refused = await self._until_refused(job, manifests, dry=False)
        if any(problem.trouble is Trouble.UNAVAILABLE for problem in refused):
            refused = await self._until_refused(job, manifests, dry=False)
        return refused

    async def change(self, job: TrainingJob, patches: Sequence[Manifest]) -> tuple[Problem, ...]:
        """Change what is there, where it is still what was looked at."""
        found = [await self._change(job, patch) for patch in patches]
        return tuple(problem for problem in found if problem is not None)

    async def delete(self, job: TrainingJob, refs: Sequence[PodRef]) -> None:
        """Ask for the deletion of these pods, and of no later ones of their names.

        Raises:
            ApiError: when the API server refuses a deletion.
        """
        queue = iter(refs)
        await self._together(len(refs), lambda: self._delete_all(job, queue))

    async def delete_groups(self, job: TrainingJob, groups: Sequence[GroupSeen]) -> None:
        """Delete these pod groups, and no later ones of their names.

        Raises:
            ApiError: when the API server refuses a deletion.
        """
        for group in groups:
            path = f"{paths.pod_groups(group.gang, job.namespace)}/{group.name}"
            known = {"uid": group.uid}
            body = {"preconditions": known, "propagationPolicy": "Background"}
            try:
                await self._api.request("DELETE", path, body=body)
            except ApiError as error:
                if not await self._is_another(error, path, known):
                    raise
            # one that waits for its pods to go is as good as gone
            self._store.lost(job.uid, gang.KIND, group.uid)

    async def delete_job(self, job: TrainingJob) -> None:
        """Delete the job itself, if it is still the one that was looked at.

        Raises:
            ApiError: when the API server refuses the deletion.
        """
        path = paths.job(job.namespace, job.name)
        known = {"uid": job.uid, "resourceVersion": job.resource_version}
        body = {"preconditions": known, "propagationPolicy": "Background"}
        try:
            await self._api.request("DELETE", path, body=body)
        except ApiError as error:
            if not await self._is_another(error, path, known):
                raise

    async def _until_refused(
        self, job: TrainingJob, manifests: Sequence[Manifest], *, dry: bool
    ) -> tuple[Problem, ...]:
        """Make these; of the refusals that were in flight together the first one's is first."""
        queue = iter(enumerate(manifests))
        refused: dict[int, Problem] = {}

        async def work() -> None:
            for turn, manifest in queue:
                if refused or not self._still_wanted(job):
                    return
                problem = await self._make(job, manifest, dry=dry)
                if problem is not None:
                    refused[turn] = problem

        await self._together(len(manifests), work)
        return tuple(refused[turn] for turn in sorted(refused))

    def _still_wanted(self, job: TrainingJob) -> bool:
        """False once the job is gone, is being deleted, or asks for something else."""
        body = self._store.job(job.key)
        known = {} if body is None else body["metadata"]
        same = known.get("uid") == job.uid and known.get("generation", 0) == job.generation
        return same and "deletionTimestamp" not in known

    async def _together(self, tasks: int, work: Callable[[], Awaitable[None]]) -> None:
        """Share the work; all have ended before the first error is raised."""
        workers = (work() for _ in range(min(tasks, self._parallel)))
        for outcome in await asyncio.gather(*workers, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _make(self, job: TrainingJob, manifest: Manifest, *, dry: bool) -> Problem | None:
        path = paths.collection(manifest)
        name = manifest["metadata"]["name"]
        try:
            async with self._in_flight:
                made = await self._api.request(
                    "POST",
                    path,
                    query=_DRY if dry else _OWN,
                    body=manifest,
                    metadata_only=manifest["kind"] in _AS_SENT,
                )
        except ApiError as error:
            if errors.exists(error):
                return None if manifest["kind"] in _UNREAD else await self._meet(job, manifest)
            return errors.problem(name, error)
        if not dry and manifest["kind"] not in _UNSEEN:
            self._store.put(answers.known(manifest, made))
        return None

    async def _change(self, job: TrainingJob, patch: Manifest) -> Problem | None:
        name, known = patch["metadata"]["name"], {"uid": patch["metadata"]["uid"]}
        path = f"{paths.collection(patch)}/{name}"
        body = {"metadata": known, "spec": patch["spec"]}
        try:
            answer = await self._api.request("PATCH", path, query=_OWN, body=body)
        except ApiError as error:
            if not await self._is_another(error, path, known):
                return errors.unchanged(name, error)
            self._store.lost(job.uid, patch["kind"], known["uid"])
            return None
        self._store.put({**answer, **answers.kind(patch)})
        return None

    async def _meet(self, job: TrainingJob, manifest: Manifest) -> Problem | None:
        """The name is taken: by our own child, which is fine, or by somebody else's object."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        path = f"{paths.collection(manifest)}/{name}"
        try:
            found = await self._api.request("GET", path)
        except ApiError as error:
            return errors.problem(name, error)
        ours = (pods.owner(found) or {}).get("uid") == job.uid
        if ours and (kind in _UNSEEN or self._store.take({**found, **answers.kind(manifest)})):
            return None
        if "deletionTimestamp" in found["metadata"]:
            words = f"{kind} {name} of before is still being deleted"
            return Problem(trouble=Trouble.LEFTOVER, name=name, message=words)
        whose = "has lost its labels" if ours else "does not belong to this job"
        words = f"{kind} {name} exists and {whose}: delete it, or give the job another name"
        return Problem(trouble=Trouble.CONFLICT, name=name, message=words)

    async def _delete_all(self, job: TrainingJob, refs: Iterator[PodRef]) -> None:
        for ref in refs:
            await self._delete(job, ref)

    async def _is_another(self, error: ApiError, path: str, known: dict[str, str]) -> bool:
        """True when what was to be deleted or changed is gone, or is not what it was.

        The refusal alone does not say so: a conflict may be about anything, and pass, and
        what is invalid need not be the uid.
        """
        if error.status not in {errors.CONFLICT, errors.UNPROCESSABLE}:
            return error.status == errors.NOT_FOUND
        try:
            found = await self._api.request("GET", path)
        except ApiError as other:
            return other.status == errors.NOT_FOUND
        return any(found["metadata"].get(key) != value for key, value in known.items())

    async def _delete(self, job: TrainingJob, ref: PodRef) -> None:
        path = f"{paths.pods(job.namespace)}/{ref.name}"
        known = {"uid": ref.uid}
        body = {"preconditions": known, "propagationPolicy": "Background"}
        try:
            async with self._in_flight:
                answer = await self._api.request("DELETE", path, body=body)
        except ApiError as error:
            if not await self._is_another(error, path, known):
                raise
            self._store.lost(job.uid, "Pod", ref.uid)
            return
        if _leaves_slowly(answer):
            self._store.put(answer)
        else:
            self._store.lost(job.uid, "Pod", ref.uid)


def _leaves_slowly(answer: Manifest) -> bool:
    """True when the answer to a delete is a pod that its kubelet has to stop first."""
    metadata = answer.get("metadata") or {}
    return bool(metadata.get("deletionGracePeriodSeconds") or metadata.get("finalizers"))
