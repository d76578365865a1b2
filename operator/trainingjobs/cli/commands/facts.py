"""What `doctor` looks at: read, and nothing changed; what may not be read is no failure."""

import asyncio
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import httpx2

from trainingjobs.cli import screen
from trainingjobs.cli.views import health, reach
from trainingjobs.client.failures import code_of, translated
from trainingjobs.client.home import PLACE, USUAL
from trainingjobs.client.job import Manifest
from trainingjobs.client.raw import Raw
from trainingjobs.model import labels

_RIGHTS = {
    "create TrainingJobs": ("create", labels.GROUP, labels.PLURAL, ""),
    "change TrainingJobs": ("patch", labels.GROUP, labels.PLURAL, ""),
    "cancel jobs (delete TrainingJobs)": ("delete", labels.GROUP, labels.PLURAL, ""),
    "follow jobs (watch TrainingJobs)": ("watch", labels.GROUP, labels.PLURAL, ""),
    "list pods": ("list", "", "pods", ""),
    "read logs": ("get", "", "pods", "log"),
    "send scripts (create ConfigMaps)": ("create", "", "configmaps", ""),
    "retry scripts (get ConfigMaps)": ("get", "", "configmaps", ""),
    "retry scripts (patch ConfigMaps)": ("patch", "", "configmaps", ""),
}
_LIVE = {
    "list pods": ("list", "", "pods", ""),
    "create pods/portforward": ("create", "", "pods", "portforward"),
    "create serviceaccounts/token": ("create", "", "serviceaccounts", "token"),
}
"""In the operator's namespace, for what only its leader knows."""
_REVIEW = "apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_OPERATOR = "app.kubernetes.io/part-of=trainingjob-operator,app.kubernetes.io/component=operator"
_LIVING = "status.phase!=Succeeded,status.phase!=Failed"
_PAGE = "500"
_SIZE = "PARALLEL_INSTANCES"
_DNS = "apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices"


async def looked(count: int, each: dict[str, str], image: str) -> list[health.Check]:
    """All checks of the namespace that the command line names."""
    async with screen.connect() as client:
        raw, namespace = client.raw, client.namespace
        found = await _facts(raw, namespace)
        way = await _reach(raw, namespace, image)
        way = replace(way, nodes=found.nodes, unseen={**found.unseen, **way.unseen})
    return [
        *health.checks(found, namespace, count, each),
        *reach.checks(way, namespace, datetime.now(UTC)),
    ]


async def _reach(raw: Raw, namespace: str, image: str) -> reach.Reach:
    unseen = dict[str, str]()
    asked = _Asked(raw, unseen)
    slices = await asked.items("dns", _DNS, labelSelector="kubernetes.io/service-name=kube-dns")
    jobs = [] if reach.tells(slices) else await asked.jobs(namespace)
    secrets = await asked.pull_secrets(f"api/v1/namespaces/{namespace}") if image else {}
    return reach.Reach(unseen=unseen, slices=slices, jobs=jobs, image=image, secrets=secrets)


async def _facts(raw: Raw, namespace: str) -> health.Facts:
    try:
        version = (await raw.get("version")).get("gitVersion")
    except httpx2.HTTPError as error:
        raise translated(error) from error
    here, unseen = f"api/v1/namespaces/{namespace}", dict[str, str]()
    asked = _Asked(raw, unseen)
    served, operators, quotas, nodes, pods, rights = await asyncio.gather(
        asked.served(),
        asked.items("operator", "apis/apps/v1/deployments", labelSelector=_OPERATOR),
        asked.items("quota", f"{here}/resourcequotas"),
        asked.items("room", "api/v1/nodes"),
        asked.items("room", "api/v1/pods", fieldSelector=_LIVING),
        asyncio.gather(*(asked.right(namespace, *right) for right in _RIGHTS.values())),
    )
    lives = os.environ.get(PLACE) or _home_of(operators or [])
    live = await asyncio.gather(*(asked.right(lives, *right) for right in _LIVE.values()))
    return health.Facts(
        version=version,
        home=lives,
        live=dict(zip(_LIVE, live, strict=True)),
        unseen=unseen,
        served=served,
        operators=operators,
        rights=dict(zip(_RIGHTS, rights, strict=True)),
        quotas=quotas,
        nodes=nodes,
        pods=pods,
    )


def _home_of(operators: list[Manifest]) -> str:
    """Where the operator is: the usual place, unless it is seen to be elsewhere alone."""
    found = {str(it["metadata"]["namespace"]) for it in operators}
    return found.pop() if len(found) == 1 else USUAL


@dataclass(frozen=True, slots=True)
class _Asked:
    """Questions, whose answers may be that one may not ask, or none at all."""

    raw: Raw
    unseen: dict[str, str]
    """Why there was no answer, by what it was about."""

    async def served(self) -> bool | None:
        """Whether TrainingJobs are known here."""
        try:
            found = await self.raw.get(f"apis/{labels.API_VERSION}")
        except httpx2.HTTPError as error:
            if code_of(error) == httpx2.codes.NOT_FOUND:
                return False
            self._note("resource", error)
            return None
        return labels.PLURAL in [item.get("name") for item in found.get("resources") or []]

    async def items(self, about: str, path: str, **params: str) -> list[Manifest] | None:
        """All that are there, page by page, without what nobody looks at."""
        found: list[Manifest] = []
        more: str | None = ""
        try:
            while more is not None:
                page = await self.raw.get(
                    path, limit=_PAGE, **params, **({"continue": more} if more else {})
                )
                found += [_slim(item) for item in page.get("items") or []]
                more = (page.get("metadata") or {}).get("continue") or None
        except httpx2.HTTPError as error:
            self._note(about, error)
            return None
        return found

    async def jobs(self, namespace: str) -> list[Manifest]:
        """Those of all namespaces, else of this one; none where nobody tells."""
        api, spaces = f"apis/{labels.API_VERSION}", ("", f"namespaces/{namespace}/")
        for space in spaces:
            found = await self.items("jobs", f"{api}/{space}{labels.PLURAL}")
            if found is not None:
                return found
        return []

    async def right(self, namespace: str, *asked: str) -> bool | None:
        """Whether one may do that; None where nobody says so."""
        names = ("verb", "group", "resource", "subresource")
        attributes = {"namespace": namespace, **dict(zip(names, asked, strict=True))}
        try:
            answer = await self.raw.post(_REVIEW, {"spec": {"resourceAttributes": attributes}})
        except httpx2.HTTPError:
            return None
        return bool((answer.get("status") or {}).get("allowed"))

    async def pull_secrets(self, here: str) -> dict[str, bool | None] | None:
        """Whether those that the default account names are there; None where nobody says so."""
        try:
            account = await self.raw.get(f"{here}/serviceaccounts/default")
        except httpx2.HTTPError as error:
            self._note("image", error)
            return None
        names = [item.get("name") for item in account.get("imagePullSecrets") or []]
        return {name: await self._there(f"{here}/secrets/{name}") for name in names if name}

    async def _there(self, path: str) -> bool | None:
        try:
            await self.raw.metadata(path)
        except httpx2.HTTPError as error:
            return False if code_of(error) == httpx2.codes.NOT_FOUND else None
        return True

    def _note(self, about: str, error: httpx2.HTTPError) -> None:
        if code_of(error) != httpx2.codes.FORBIDDEN:
            self.unseen[about] = str(translated(error))


def _slim(item: Manifest) -> Manifest:
    """Of a large cluster's pods and jobs not all can be held at once."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    if _SIZE in spec:
        told = {name: status.get(name) for name in ("groupSize", "conditions")}
        named = {name: item["metadata"].get(name) for name in ("namespace", "name")}
        return {"metadata": named, "spec": {_SIZE: spec[_SIZE]}, "status": told}
    if "containers" not in spec:
        return item
    asks = [{"resources": one.get("resources")} for one in item["spec"]["containers"]]
    spec = {"nodeName": item["spec"].get("nodeName"), "containers": asks}
    return {"spec": spec, "status": {"phase": status.get("phase")}}
