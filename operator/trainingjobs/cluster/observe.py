"""What is there of a job: from memory, which a sweep over the cluster keeps true.

A watch that has to start anew tells what is there and forgets to tell what is gone. So
everything with our label is listed before the first decision, once more soon after (a
watch may have begun after that list), and again and again. One paged list of all pods is
cheaper than one list for each job: with 1,000 jobs the API server spends 40 ms on each of
those, because it looks at all pods of the namespace to find ten.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trainingjobs.cluster import paths, podgroups, rounds
from trainingjobs.cluster.api import Api
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.rolls import Rolls
from trainingjobs.cluster.shelf import version_of
from trainingjobs.cluster.store import Key, Store
from trainingjobs.model import gang, labels
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed
from trainingjobs.model.roll import Roll

Manifest = dict[str, Any]

_LOG = logging.getLogger(__name__)


def observe(store: Store, job: TrainingJob, rolls: Rolls | None = None) -> Observed:
    """All that is there of the job, in a snapshot."""
    return Observed(
        pods=store.pods_of(job.uid),
        service=store.service_of(job.uid),
        groups=store.groups_of(job.uid),
        served=store.served,
        past=store.past_of(job.uid),
        roll=Roll() if rolls is None else rolls.of(job.uid, job.attempt),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Brings memory up to date with all that jobs own.

    Pod groups have no watch: who has one may be without it until the next sweep, and a watch
    on what most clusters do not have would be a permission and a warning for nothing.
    """

    api: Api
    store: Store
    wake: Callable[[Key], None]
    namespaces: tuple[str, ...]
    swept: set[str | None] = field(default_factory=set)
    """The namespaces of which everything has been listed once."""
    _versions: dict[tuple[str, str | None], str] = field(default_factory=dict)

    async def once(self) -> None:
        """List everything; the jobs for which that was news are woken.

        Raises:
            ApiError: when the API server does not answer, or refuses everywhere.
        """
        await self._ask_for_pod_groups()
        await rounds.through(self.namespaces, self._sweep)

    def sees(self, namespace: str) -> bool:
        """True when everything there was listed once: before that, absence proves nothing."""
        return bool(self.swept & {namespace, None})

    def listed(self, plural: str, namespace: str | None) -> str | None:
        """The version from which the first watch misses nothing; a later one lists anew."""
        return self._versions.pop((plural, namespace), None)

    async def _sweep(self, namespace: str | None) -> None:
        pods = await self._list(namespace, "Pod", {"v1": paths.pods(namespace)})
        services = await self._list(namespace, "Service", {"v1": paths.services(namespace)})
        if namespace not in self.swept:
            self._versions.update({("pods", namespace): pods, ("services", namespace): services})
        await self._list_groups(namespace)
        self.swept.add(namespace)

    async def _list_groups(self, namespace: str | None) -> None:
        """List pod groups; somebody else's API that fails keeps no job from being looked at."""
        places = {it.value: paths.pod_groups(it, namespace) for it in self.store.served}
        try:
            await self._list(namespace, gang.KIND, places)
        except ApiError as error:
            _LOG.warning("pod groups could not be listed: %s", error)

    async def _ask_for_pod_groups(self) -> None:
        """Learn which schedulers' groups there are; a job may have waited for that."""
        served = await podgroups.served(self.api, self.store.served)
        if served != self.store.served:
            self.store.served = served
            for body in self.store.jobs():
                self.wake((body["metadata"]["namespace"], body["metadata"]["name"]))

    async def _list(self, namespace: str | None, kind: str, places: Mapping[str, str]) -> str:
        """List one kind, from all API versions that have it; what no list has is gone.

        The version is that of the first list.
        """
        present: set[str] = set()
        version = ""
        for api_version, path in places.items():
            async for page in self.api.pages(path, {"labelSelector": labels.JOB_UID}):
                # of several lists the first and oldest proves what is gone
                version = version or version_of(page)
                for item in page.get("items") or ():
                    present.add(item["metadata"]["uid"])
                    # items of a list do not say what they are
                    known = {"apiVersion": api_version, "kind": kind}
                    self._wake(self.store.put({**item, **known}))
        for key in self.store.drop_absent_children(kind, namespace, present, version):
            self._wake(key)
        return version

    def _wake(self, key: Key | None) -> None:
        if key is not None and self.store.job(key) is not None:
            self.wake(key)
