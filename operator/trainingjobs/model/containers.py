"""What a pod template says of its training container."""

from typing import Any

from trainingjobs.model import labels
from trainingjobs.model.quantity import number
from trainingjobs.model.spec import Manifest, Spec


def trainer(template: Manifest) -> Manifest:
    """The container named `trainer`, else the first.

    Raises:
        IndexError: when there is none; the schema refuses such a template.
    """
    containers: list[Manifest] = template["spec"]["containers"]
    named = (container for container in containers if container.get("name") == labels.TRAINER)
    return next(named, containers[0])


def limits(template: Manifest) -> dict[str, Any]:
    """The training container's resource limits; none where they are no mapping.

    What has the wrong form is left as it is: the API server refuses it in its own words.
    """
    resources = trainer(template).get("resources")
    found = resources.get("limits") if isinstance(resources, dict) else None
    return found if isinstance(found, dict) else {}


def objects(manifest: Manifest, name: str) -> list[Manifest] | None:
    """A list of objects in a manifest, empty where it is absent; None for what is no such list."""
    found = manifest.get(name)
    if found is None:
        return []
    rightly = isinstance(found, list) and all(isinstance(item, dict) for item in found)
    return found if rightly else None


def processes(spec: Spec) -> int:
    """Processes per instance; `auto` is one per GPU, else one per CPU of the limit, else 1."""
    wanted = spec.processes_per_instance
    if wanted != "auto":
        return wanted
    return gpus(spec.template) or cpus(spec.template) or 1


def gpus(template: Manifest) -> int:
    """GPUs in the training container's limits, of whatever vendor."""
    return int(sum(number(amount) for name, amount in limits(template).items() if _is_gpu(name)))


def cpus(template: Manifest) -> int:
    """Whole CPUs in the training container's limits; 0 where it has none."""
    return int(number(limits(template).get("cpu", 0)))


def has_cpu_limit(template: Manifest) -> bool:
    """True when the training container's CPU time is limited."""
    return "cpu" in limits(template)


def _is_gpu(resource: str) -> bool:
    return resource.endswith("/gpu") or resource.startswith("nvidia.com/mig-")
