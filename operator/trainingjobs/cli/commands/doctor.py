"""`doctor`: would a job run here? Looks at what it needs, and changes nothing."""

import asyncio
import sys
from typing import Any

import click
import httpx2

from trainingjobs.cli import options, screen
from trainingjobs.cli.views import health, paint
from trainingjobs.client.failures import translated
from trainingjobs.client.job import Manifest
from trainingjobs.client.raw import Raw
from trainingjobs.model import labels

_RIGHTS = {
    "create TrainingJobs": ("create", labels.GROUP, labels.PLURAL, ""),
    "change TrainingJobs": ("patch", labels.GROUP, labels.PLURAL, ""),
    "list pods": ("list", "", "pods", ""),
    "read logs": ("get", "", "pods", "log"),
    "send scripts (create ConfigMaps)": ("create", "", "configmaps", ""),
}
_REVIEW = "apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_OPERATOR = "app.kubernetes.io/part-of=trainingjob-operator,app.kubernetes.io/component=operator"
_SIGNS = {"ok": ("ok", "green"), "bad": ("BAD", "red"), "unknown": ("??", "yellow")}


@click.command("doctor", cls=options.Command)
@click.option(
    "--pods", "count", type=click.IntRange(1), default=3, metavar="N", help="Room for so many."
)
@click.option("--cpus", default="", metavar="N", help="Of each, as 2 or 500m.")
@click.option("--memory", default="", metavar="SIZE", help="Of each, as 4Gi.")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="Of each.")
@options.where
def doctor_(count: int, cpus: str, memory: str, gpus: int) -> None:
    r"""Look whether a job would run here: operator, rights, quota, room.

    The exit code is 1 where something is not well. Nothing is changed, and no pod is run.

    \b
    Examples:
      {program} doctor
      {program} doctor --pods 8 --gpus 1 -n lab
    """
    each = {"cpu": cpus, "memory": memory, "nvidia.com/gpu": str(gpus)}
    asked = {name: text for name, text in each.items() if text and text != "0"}
    found = screen.run(_looked(count, asked))
    for check in found:
        sign, colour = _SIGNS[check.verdict]
        line = f"{check.about:<9} {screen.safe(check.words)}"
        advice = f": {screen.safe(check.advice)}" if check.advice else ""
        screen.write([f"{paint.coloured(f'{sign:<3}', colour)} {line}{advice}"])
    sys.exit(1 if any(check.verdict == "bad" for check in found) else 0)


async def _looked(count: int, each: dict[str, str]) -> list[health.Check]:
    async with screen.connect() as client:
        return health.checks(
            await _facts(client.raw, client.namespace), client.namespace, count, each
        )


async def _facts(raw: Raw, namespace: str) -> health.Facts:
    try:
        version = (await raw.get("version")).get("gitVersion")
    except httpx2.HTTPError as error:
        raise translated(error) from error
    here = f"api/v1/namespaces/{namespace}"
    served, operators, quotas, nodes, pods = await asyncio.gather(
        _maybe(raw, f"apis/{labels.API_VERSION}"),
        _items(raw, "apis/apps/v1/deployments", labelSelector=_OPERATOR),
        _items(raw, f"{here}/resourcequotas"),
        _items(raw, "api/v1/nodes"),
        _items(raw, "api/v1/pods", fieldSelector="status.phase!=Succeeded,status.phase!=Failed"),
    )
    names = [item.get("name") for item in (served or {}).get("resources") or []]
    rights = {what: await _may(raw, namespace, *asked) for what, asked in _RIGHTS.items()}
    return health.Facts(
        version=version,
        served=labels.PLURAL in names,
        operators=operators,
        rights=rights,
        quotas=quotas,
        nodes=nodes,
        pods=pods,
    )


async def _items(raw: Raw, path: str, **params: str) -> list[Manifest] | None:
    found = await _maybe(raw, path, **params)
    return None if found is None else list(found.get("items") or [])


async def _maybe(raw: Raw, path: str, **params: str) -> Manifest | None:
    """What is there, where there is something that may be read."""
    try:
        return await raw.get(path, **params)
    except httpx2.HTTPError:
        return None


async def _may(raw: Raw, namespace: str, *asked: Any) -> bool:
    verb, group, resource, part = asked
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": part,
    }
    try:
        answer = await raw.post(_REVIEW, {"spec": {"resourceAttributes": attributes}})
    except httpx2.HTTPError:
        return False
    return bool((answer.get("status") or {}).get("allowed"))
