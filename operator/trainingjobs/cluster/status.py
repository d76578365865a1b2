"""Writes a job's status: once, when it differs, and never over somebody else's change."""

import logging
from datetime import datetime
from typing import Any

from trainingjobs.cluster import errors, paths
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.haste import Haste, haste
from trainingjobs.cluster.shelf import version_of
from trainingjobs.cluster.store import Store
from trainingjobs.model import labels
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.status import Status
from trainingjobs.model.times import write_time

_LOG = logging.getLogger(__name__)
_OLD_DEFINITION = (
    "the API server does not keep all of a status (%s): its resource definition is older than "
    "this operator; replace it with: kubectl apply -f crds/trainingjob.yaml"
)


class Writer:
    """Writes statuses and remembers the answers."""

    def __init__(self, api: Api, store: Store) -> None:
        self._api = api
        self._store = store
        self._pruned: dict[str, tuple[str, Status]] = {}

    def differs(self, job: TrainingJob, status: Status) -> bool:
        """True when writing the status would change something."""
        if same(job.status, status):
            return False
        # what a resource definition does not keep differs for ever: send it once
        version, sent = self._pruned.get(job.uid, ("", status))
        return version != job.resource_version or not same(sent, status)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._pruned.pop(uid, None)

    async def write(self, job: TrainingJob, status: Status) -> bool:
        """Write the status; false when the job has changed since it was looked at.

        Raises:
            ApiError: when the API server refuses for another reason.
        """
        body = self._store.job(job.key)
        if body is None or version_of(body) != job.resource_version:
            return False
        patch = {
            "metadata": {"resourceVersion": job.resource_version},
            "status": difference(body.get("status") or {}, written(status)),
        }
        path = paths.job_status(job.namespace, job.name)
        query = {"fieldManager": labels.COMPONENT_NAME}
        try:
            answer = await self._api.request("PATCH", path, query=query, body=patch)
        except ApiError as error:
            if error.status == errors.CONFLICT:
                await self._read_again(job)
                return False
            if error.status != errors.NOT_FOUND:
                raise
            self._gone(job)
            return False
        self._store.put_job(answer)
        self._compare(job, status, answer)
        return True

    def _compare(self, job: TrainingJob, status: Status, answer: dict[str, Any]) -> None:
        lost = difference(answer.get("status") or {}, written(status))
        if not lost:
            self._pruned.pop(job.uid, None)
            return
        if not self._pruned:
            _LOG.warning(_OLD_DEFINITION, ", ".join(sorted(lost)))
        self._pruned[job.uid] = version_of(answer), status

    async def _read_again(self, job: TrainingJob) -> None:
        try:
            body = await self._api.request("GET", paths.job(job.namespace, job.name))
        except ApiError as error:
            if error.status != errors.NOT_FOUND:
                raise
            self._gone(job)
        else:
            self._store.put_job(body)

    def _gone(self, job: TrainingJob) -> None:
        body = self._store.job(job.key)
        if body is not None and body["metadata"]["uid"] == job.uid:
            self._store.drop_job(body)


def written(status: Status) -> dict[str, Any]:
    """The status as the API server stores it: no nulls, times in whole seconds."""
    plain: dict[str, Any] = _plain(status.model_dump(by_alias=True, exclude_none=True))
    return plain


def same(old: Status, new: Status) -> bool:
    """True when writing the new status would change nothing that is worth it."""
    return hurry(old, new) is Haste.NEVER


def hurry(old: Status, new: Status) -> Haste:
    """How soon the new status is to be written over the old one."""
    return haste(written(old), written(new))


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch from the one to the other; what is left out has to be null in it."""
    removed: dict[str, Any] = {key: None for key in old if key not in new}
    changed = {key: _change(old.get(key), it) for key, it in new.items() if old.get(key) != it}
    return {**removed, **changed}


def _change(old: Any, new: Any) -> Any:
    return difference(old, new) if isinstance(old, dict) and isinstance(new, dict) else new


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return write_time(value)
    return str(value) if isinstance(value, str) else value
