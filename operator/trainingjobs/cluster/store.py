"""All that the operator knows of its jobs and of what they own, in memory.

Three sources feed it: the watches, our own lists, and the answers to our own writes, so
that the next decision sees what the last one did. Nothing else is remembered anywhere
but on the resources.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trainingjobs.cluster import podgroups, pods, services
from trainingjobs.cluster.history import History
from trainingjobs.cluster.shelf import Shelf, newer, version_of
from trainingjobs.model import gang, labels, names
from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.observed import Past, PodSeen, ServiceSeen

Manifest = dict[str, Any]
Key = tuple[str, str]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Family:
    """What one job owns."""

    key: Key
    uid: str
    pods: Shelf[PodSeen] = field(default_factory=Shelf)
    services: Shelf[ServiceSeen] = field(default_factory=Shelf)
    groups: Shelf[GroupSeen] = field(default_factory=Shelf)
    history: History = field(default_factory=History)

    def shelf(self, kind: str | None) -> Shelf[PodSeen] | Shelf[ServiceSeen] | Shelf[GroupSeen]:
        """The objects of one kind."""
        if kind == gang.KIND:
            return self.groups
        return self.services if kind == "Service" else self.pods

    @property
    def empty(self) -> bool:
        """True when nothing of it is there."""
        return not len(self.pods) and not len(self.services) and not len(self.groups)


class Store:
    """Jobs by namespace and name; what they own by these and the job's uid.

    Whoever makes a pod may write any uid into it, also one of a job in another namespace.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._jobs: Shelf[Key] = Shelf()
        self._bodies: dict[Key, Manifest] = {}
        self._families: dict[tuple[Key | None, str], Family] = {}
        self._homes: dict[str, str] = {}
        """The job's uid by the pod's."""
        self.served: frozenset[Gang] = frozenset()
        """The pod groups that the API server knew when it was last asked."""

    def job(self, key: Key) -> Manifest | None:
        """The latest body of a job."""
        return self._bodies.get(key)

    def jobs(self) -> Iterator[Manifest]:
        """The latest bodies of all jobs."""
        return iter(list(self._bodies.values()))

    def put_job(self, body: Manifest) -> bool:
        """Take in a job; false when it is known or out of date."""
        key, version = _key(body), version_of(body)
        if not self._jobs.put(body["metadata"]["uid"], version, key):
            return False
        known = self._bodies.get(key)
        if known is None or newer(version, version_of(known)):
            self._bodies[key] = _trimmed(body)
        return True

    def drop_job(self, body: Manifest) -> None:
        """Take in that a job is gone, and forget what it had."""
        self._jobs.bury(body["metadata"]["uid"], version_of(body))
        self._forget(body["metadata"]["uid"], _key(body))

    def drop_absent(
        self, namespace: str | None, present: AbstractSet[str], version: str
    ) -> list[Key]:
        """Take in a complete list of jobs; the keys of those that it lacks."""
        known = {uid: self._jobs.get(uid) for uid in self._jobs.uids()}
        uids = [uid for uid, key in known.items() if key and namespace in {None, key[0]}]
        gone = [(uid, known[uid]) for uid in self._jobs.bury_absent(uids, present, version)]
        keys = [(uid, key) for uid, key in gone if key is not None]
        for uid, key in keys:
            self._forget(uid, key)
        return [key for _, key in keys]

    def put(self, manifest: Manifest) -> Key | None:
        """Take in what a job owns; the job's key when it changes what is decided by."""
        family = self._family_of(manifest)
        if family is None:
            return None
        uid, version = manifest["metadata"]["uid"], version_of(manifest)
        if manifest.get("kind") == "Service":
            news = family.services.put(uid, version, services.seen(manifest))
        elif manifest.get("kind") == gang.KIND:
            group = podgroups.seen(manifest)
            shelf = family.groups
            news = shelf.put(uid, version, group) if group else shelf.bury(uid, version)
        else:
            pod, before = self._noticed(family, manifest), family.pods.get(uid)
            news = pod is not None and family.pods.put(uid, version, pod) and pod != before
            if pod is not None and news:
                family.history.note(pod)
                self._homes[uid] = family.uid
        return family.key if news else None

    def take(self, manifest: Manifest) -> bool:
        """Take in what a job owns; true when it now counts as there."""
        self.put(manifest)
        family = self._family_of(manifest)
        if family is None:
            return False
        shelf = self._of(family.uid).shelf(manifest.get("kind"))
        return shelf.get(manifest["metadata"]["uid"]) is not None

    def drop(self, manifest: Manifest) -> Key | None:
        """Take in that a pod or service is gone; the job's key where it has one."""
        family = self._family_of(manifest)
        if family is None:
            return None
        uid = manifest["metadata"]["uid"]
        self._vanish(family, uid)
        if family.shelf(manifest.get("kind")).bury(uid, version_of(manifest)):
            self._leave([uid])
        self._tidy(family)
        return family.key

    def lost(self, job_uid: str, kind: str, uid: str) -> None:
        """Take in that the API server knows nothing of this uid any more."""
        family = self._of(job_uid)
        self._vanish(family, uid)
        family.shelf(kind).bury(uid)
        self._leave([uid])

    def drop_absent_children(
        self, kind: str, namespace: str | None, present: AbstractSet[str], version: str
    ) -> list[Key]:
        """Take in a complete list of one kind; the jobs that have lost some."""
        changed = []
        for family in list(self._families.values()):
            if namespace not in {None, family.key[0]}:
                continue
            shelf = family.shelf(kind)
            gone = shelf.bury_absent(shelf.uids(), present, version)
            self._leave(gone)
            if gone:
                changed.append(family.key)
                self._tidy(family)
        return changed

    def pods_of(self, job_uid: str) -> tuple[PodSeen, ...]:
        """The pods of a job by rank."""
        return tuple(sorted(self._of(job_uid).pods, key=lambda pod: (pod.rank, pod.attempt)))

    def home_of(self, pod_uid: str) -> str | None:
        """The uid of the job that has this pod."""
        return self._homes.get(pod_uid)

    def pod(self, job_uid: str, pod_uid: str) -> tuple[Manifest, PodSeen] | None:
        """A pod with its job's latest body, where both are there."""
        family = self._of(job_uid)
        pod, body = family.pods.get(pod_uid), self._bodies.get(family.key)
        if pod is None or body is None or body["metadata"]["uid"] != job_uid:
            return None
        return body, pod

    def past_of(self, job_uid: str) -> Past:
        """What was seen of pods of a job that may be gone by now."""
        return self._of(job_uid).history.past()

    def service_of(self, job_uid: str) -> ServiceSeen | None:
        """The job's service, if it is there; a copy that somebody made of it is not."""
        family = self._of(job_uid)
        name = names.service(family.key[1])
        return next((service for service in family.services if service.name == name), None)

    def groups_of(self, job_uid: str) -> tuple[GroupSeen, ...]:
        """The pod groups of a job."""
        return tuple(self._of(job_uid).groups)

    def _family_of(self, manifest: Manifest) -> Family | None:
        reference = pods.owner(manifest)
        if reference is None:
            return None
        key, uid = (manifest["metadata"]["namespace"], reference["name"]), reference["uid"]
        return self._families.setdefault((key, uid), Family(key, uid))

    def _of(self, job_uid: str) -> Family:
        """What a job has; nothing where it is not known."""
        return self._families.get((self._jobs.get(job_uid), job_uid)) or Family(("", ""), job_uid)

    def _vanish(self, family: Family, uid: str) -> None:
        pod = family.pods.get(uid)
        if pod is not None:
            family.history.vanish(pod, self._clock())

    def _leave(self, pod_uids: Iterable[str]) -> None:
        for uid in pod_uids:
            self._homes.pop(uid, None)

    def _noticed(self, family: Family, manifest: Manifest) -> PodSeen | None:
        """The pod with the time when its end was first seen, by our own clock."""
        pod = pods.seen(manifest)
        if pod is None or not pod.ended:
            return pod
        before = family.pods.get(pod.uid)
        at = None if before is None else before.noticed_end
        return dataclasses.replace(pod, noticed_end=at or self._clock())

    def _forget(self, uid: str, key: Key) -> None:
        if self._jobs.get(uid) is not None:
            return
        family = self._families.pop((key, uid), None)
        self._leave(() if family is None else family.pods.uids())
        if key in self._bodies and self._bodies[key]["metadata"]["uid"] == uid:
            del self._bodies[key]

    def _tidy(self, family: Family) -> None:
        """What a job owned is told for a while after the job is gone: keep nothing of it."""
        if self._jobs.get(family.uid) != family.key and family.empty:
            del self._families[family.key, family.uid]


def _key(body: Manifest) -> Key:
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _trimmed(body: Manifest) -> Manifest:
    """The body without what is long and tells us nothing."""
    metadata = {key: it for key, it in body["metadata"].items() if key != "managedFields"}
    notes = metadata.get("annotations") or {}
    if _LAST_APPLIED in notes:
        metadata["annotations"] = {key: it for key, it in notes.items() if key != _LAST_APPLIED}
    kind = {"apiVersion": labels.API_VERSION, "kind": labels.KIND}
    return {**body, **kind, "metadata": metadata}
