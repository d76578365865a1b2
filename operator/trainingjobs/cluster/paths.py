"""The URLs of what we touch, and what a URL means for metrics."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from trainingjobs.model import gang, labels
from trainingjobs.model.gang import Gang

JOBS_ROOT = f"/apis/{labels.GROUP}/{labels.VERSION}"
CORE_ROOT = "/api/v1"
_LEASES_ROOT = "/apis/coordination.k8s.io/v1"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a URL
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Target(NamedTuple):
    """A resource, as RBAC names it, and whether the URL names one object of it."""

    resource: str
    named: bool


def jobs(namespace: str | None = None) -> str:
    """All TrainingJobs, of one namespace or of the cluster."""
    return _namespaced(JOBS_ROOT, namespace, labels.PLURAL)


def job(namespace: str, name: str) -> str:
    """One TrainingJob."""
    return f"{jobs(namespace)}/{name}"


def job_status(namespace: str, name: str) -> str:
    """The status subresource of one TrainingJob."""
    return f"{job(namespace, name)}/status"


def pods(namespace: str | None = None) -> str:
    """The pods of a namespace, or of the cluster."""
    return _namespaced(CORE_ROOT, namespace, "pods")


def log(namespace: str, pod: str) -> str:
    """The log of one pod."""
    return f"{pods(namespace)}/{pod}/log"


def services(namespace: str | None = None) -> str:
    """The services of a namespace, or of the cluster."""
    return _namespaced(CORE_ROOT, namespace, "services")


def config_maps(namespace: str) -> str:
    """The ConfigMaps of a namespace."""
    return _namespaced(CORE_ROOT, namespace, "configmaps")


def secrets(namespace: str) -> str:
    """The Secrets of a namespace."""
    return _namespaced(CORE_ROOT, namespace, "secrets")


def events(namespace: str) -> str:
    """The events of a namespace."""
    return _namespaced(CORE_ROOT, namespace, "events")


def leases(namespace: str) -> str:
    """The Leases of a namespace."""
    return _namespaced(_LEASES_ROOT, namespace, "leases")


def api(gang_of: Gang) -> str:
    """What a version of a scheduler's API has."""
    return f"/apis/{gang_of}"


def pod_groups(gang_of: Gang, namespace: str | None = None) -> str:
    """The pod groups of one scheduler, of a namespace or of the cluster."""
    return _namespaced(api(gang_of), namespace, gang.PLURAL)


def collection(manifest: Mapping[str, Any]) -> str:
    """Where such an object is created; kinds are those that we make."""
    namespace = manifest["metadata"]["namespace"]
    if manifest["kind"] == gang.KIND:
        return pod_groups(Gang(manifest["apiVersion"]), namespace)
    return _COLLECTIONS[manifest["kind"]](namespace)


_COLLECTIONS: Mapping[str, Callable[[str], str]] = {
    "Pod": pods,
    "Service": services,
    "ConfigMap": config_maps,
    "Secret": secrets,
}


def target(path: str) -> Target:
    """The resource behind a URL: `/api/v1/namespaces/a/pods/b` is a named `pods`."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts[:1] == ["namespaces"]:
        parts = parts[2:]
    resource = "/".join(parts[:1] + parts[2:])
    return Target(resource or "discovery", named=len(parts) > 1)


def _namespaced(root: str, namespace: str | None, plural: str) -> str:
    return f"{root}/{plural}" if namespace is None else f"{root}/namespaces/{namespace}/{plural}"
