"""A user's pod template with what an instance needs; the template itself stays as it was.

The user's own value wins wherever the group does not depend on it.
"""

from collections.abc import Mapping
from typing import Any

from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.model import containers, names
from trainingjobs.model.spec import Manifest

SHM_VOLUME = "trainingjob-shm"
SHM_PATH = "/dev/shm"  # noqa: S108  the path of shared memory, not a temporary file
GRACE_SECONDS = 10
"""A script that runs as the container's first process and handles no SIGTERM never sees it:
the cluster's own 30 s would be added to each restart and each deletion."""


def pod_spec(template: Manifest, place: Place, fixed: Mapping[str, Any]) -> Manifest:
    """The spec of one instance's pod.

    Args:
        template: the user's.
        place: where the instance stands in its group.
        fixed: fields that the group depends on; they win over the template's.
    """
    spec: Manifest = template["spec"]
    group = frameworks.environment(place)
    main = containers.trainer(template)
    shared = _shares_memory(main) and containers.objects(spec, "volumes") is not None
    return {
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        # without it a pod in its node's network does not know the cluster's names
        **({"dnsPolicy": "ClusterFirstWithHostNet"} if spec.get("hostNetwork") else {}),
        **spec,
        **fixed,
        **_helpers(spec, group),
        "containers": [
            _trainer(_listening(item, spec, place), group | _asked(place), shared=shared)
            if item is main
            else with_environment(item, group)
            for item in spec["containers"]
        ],
        **({"volumes": [*(spec.get("volumes") or []), _SHM]} if shared else {}),
    }


_SHM = {"name": SHM_VOLUME, "emptyDir": {"medium": "Memory"}}


def _helpers(spec: Manifest, group: Mapping[str, str]) -> Manifest:
    """Init containers know their rank as well; a template without them gets none."""
    found = spec.get("initContainers")
    return {"initContainers": [with_environment(item, group) for item in found]} if found else {}


def _trainer(container: Manifest, variables: Mapping[str, str], *, shared: bool) -> Manifest:
    mount = {"name": SHM_VOLUME, "mountPath": SHM_PATH}
    own = containers.objects(container, "volumeMounts") or []
    return {
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **with_environment(container, variables),
        **({"volumeMounts": [*own, mount]} if shared else {}),
    }


def _listening(container: Manifest, spec: Manifest, place: Place) -> Manifest:
    """Who listens on the job's port with that told to the scheduler, where it is a node's port.

    So two that would listen on the same port of one node come to two nodes.
    """
    port, own = place.job.spec.port, containers.objects(container, "ports")
    listens = place.rank == names.MASTER_RANK or frameworks.launched(place.job.spec.framework)
    if not listens or not spec.get("hostNetwork") or own is None:
        return container
    if any(item.get("containerPort") == port for item in own):
        return container
    return {**container, "ports": [*own, {"containerPort": port, "hostPort": port}]}


def with_environment(container: Manifest, values: Mapping[str, str]) -> Manifest:
    """The container with our variables first, so that the user's may refer to `$(RANK)`."""
    own = container.get("env") or []
    taken = {item["name"] for item in own}
    added = [{"name": name, "value": text} for name, text in values.items() if name not in taken]
    return {**container, "env": [*added, *own]}


def _asked(place: Place) -> dict[str, str]:
    """What the framework's tools would be told, and what a user would want."""
    return {**frameworks.wishes(place), **_wishes(place)}


def _wishes(place: Place) -> dict[str, str]:
    """Defaults that a user would want: logs at once, and as many threads as CPUs.

    What a container takes from elsewhere (`envFrom`) would lose against these: it gets none.
    """
    template = place.job.template(place.rank)
    if containers.trainer(template).get("envFrom"):
        return {}
    threads = max(containers.cpus(template) // place.processes, 1)
    limited = containers.has_cpu_limit(template)
    return {"PYTHONUNBUFFERED": "1"} | ({"OMP_NUM_THREADS": str(threads)} if limited else {})


def _shares_memory(container: Manifest) -> bool:
    """True unless the container already says what its shared memory is."""
    mounts = containers.objects(container, "volumeMounts")
    if mounts is None:
        return False
    return all(str(mount.get("mountPath")).rstrip("/") != SHM_PATH for mount in mounts)
