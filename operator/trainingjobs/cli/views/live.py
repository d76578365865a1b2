"""The table of all ranks as the operator has heard of them last."""

from collections.abc import Iterable, Mapping, Sequence

from trainingjobs.cli.views import pods as instances
from trainingjobs.cli.views import text
from trainingjobs.client.job import Manifest

_HEADER = ("RANK", "POD", "NODE", "STATE", "STAGE", "STEP", "RATE", "STANDS AT")


def table(whole: Manifest, pods: Iterable[Manifest]) -> list[str]:
    """A line for each rank; of many, those in trouble come first into the choice.

    Args:
        whole: what the operator says of the job.
        pods: those that it has now.
    """
    found: Sequence[Manifest] = whole.get("ranks") or []
    by_name = {str(pod["metadata"]["name"]): pod for pod in pods}
    guilty = {rank for item in whole.get("findings") or [] for rank in item.get("ranks") or []}
    first = sorted(found, key=lambda item: not _troubled(item, guilty))[: instances.MAX_ROWS]
    shown = sorted(first, key=lambda item: int(item["rank"]))
    lines = text.columns([_HEADER, *(_row(item, by_name) for item in shown)])
    rest = len(found) - len(shown)
    return [*lines, *([f"… and {rest} more"] if rest else [])]


def _troubled(item: Manifest, guilty: set[int]) -> bool:
    return item["rank"] in guilty or bool(item.get("silent")) or item.get("stage") is None


def _row(item: Manifest, by_name: Mapping[str, Manifest]) -> Sequence[str]:
    pod = by_name.get(str(item.get("pod")))
    stage = str(item.get("stage") or "-")
    return (
        str(item["rank"]),
        str(item.get("pod")),
        str(item.get("node") or text.NONE),
        "-" if pod is None else instances.state(pod),
        f"{stage} (silent)" if item.get("silent") else stage,
        str(item.get("step") or 0),
        f"{float(item.get('rate') or 0):.3g}/s" if item.get("rate") else "",
        _place(item),
    )


def _place(item: Manifest) -> str:
    at = str(item.get("line") or "")
    return " at ".join(filter(None, (str(item.get("waitsIn") or ""), at)))
