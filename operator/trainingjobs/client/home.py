"""The namespace of the operator: what is there is believed to be the operator.

Whoever may make pods anywhere can put the operator's labels on one, and would be sent a token. So
a namespace is taken from what its own users cannot write: what the caller says, the usual name, or
the resource definition, which Helm marks with the namespace that it was installed from.
"""

import os
from collections.abc import Sequence

import httpx2

from trainingjobs.client.errors import ClientError, NotInstalledError, RefusedError
from trainingjobs.client.failures import code_of, translated
from trainingjobs.client.job import Manifest
from trainingjobs.client.raw import Raw
from trainingjobs.model import labels

USUAL = "trainingjob-system"
PLACE = "TRAININGJOB_OPERATOR_NAMESPACE"
_SELECTOR = f"{labels.APP_PART_OF}={labels.COMPONENT_NAME},{labels.APP_COMPONENT}=operator"
_DEFINITION = (
    f"apis/apiextensions.k8s.io/v1/customresourcedefinitions/{labels.PLURAL}.{labels.GROUP}"
)
_INSTALLED_IN = "meta.helm.sh/release-namespace"
_HINTS = 5


class Home:
    """Where the operator lives; looked for once."""

    def __init__(self, raw: Raw) -> None:
        """Look nowhere yet."""
        self._raw = raw
        self._found = ""

    async def pods(self) -> Sequence[Manifest]:
        """The operator's pods: at least one.

        Raises:
            ClientError: when there is none, or one may not look.
        """
        believed = [self._found] if self._found else await self._believed()
        for namespace in believed:
            found = await self._listed(namespace)
            if found:
                self._found = namespace
                return found
        others = [] if self._found else await self._others()
        raise _none(believed, [it for it in others if it not in believed])

    async def _believed(self) -> list[str]:
        """Namespaces in which a pod with the operator's labels is the operator's."""
        if named := os.environ.get(PLACE, ""):
            return [named]
        marked = await self._marked()
        return list(dict.fromkeys([marked, USUAL] if marked else [USUAL]))

    async def _marked(self) -> str:
        """What Helm has written on the definition, where the caller may read that."""
        try:
            found = await self._raw.get(_DEFINITION)
        except httpx2.HTTPError:
            return ""
        return str((found["metadata"].get("annotations") or {}).get(_INSTALLED_IN) or "")

    async def _others(self) -> list[str]:
        """Where else pods have the operator's labels: a hint for people, and no more."""
        try:
            found = await self._asked("api/v1/pods")
        except httpx2.HTTPError:
            return []
        return sorted({pod["metadata"]["namespace"] for pod in found})

    async def _listed(self, namespace: str) -> Sequence[Manifest]:
        try:
            return await self._asked(f"api/v1/namespaces/{namespace}/pods")
        except httpx2.HTTPError as error:
            if code_of(error) != httpx2.codes.FORBIDDEN:
                raise translated(error) from error
            words = f"you may not look for the operator's pods in {namespace}"
            advice = f"ask for `list` on `pods` there, or say where it is with ${PLACE}"
            raise RefusedError(f"{words}: {advice}") from error

    async def _asked(self, path: str) -> Sequence[Manifest]:
        found = await self._raw.get(path, labelSelector=_SELECTOR)
        items: Sequence[Manifest] = found.get("items") or []
        return items


def _none(believed: Sequence[str], others: Sequence[str]) -> ClientError:
    words = f"no operator runs in {' or '.join(believed)}"
    if not others:
        advice = f"install it first (helm), or name its namespace with ${PLACE}"
        return NotInstalledError(f"{words}: {advice}")
    there = ", ".join(others[:_HINTS])
    advice = f"name its namespace with ${PLACE} if you trust who may make pods there"
    return NotInstalledError(f"{words}; pods with its labels are in {there}: {advice}")
