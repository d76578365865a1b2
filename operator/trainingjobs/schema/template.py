"""The pod template: all that Kubernetes knows may stand in it, and little is checked here.

The full schema of a pod would make the definition too large for a plain `kubectl apply`, so
unknown fields are kept and the API server judges them when it sees the first pod. The known
names are declared without a type for one reason: CEL's `==` overlooks that one undeclared
field was exchanged for another.
"""

from collections.abc import Iterable

from trainingjobs.model.reserved import RESERVED
from trainingjobs.schema.openapi import Schema
from trainingjobs.schema.rules import rule

MAX_CONTAINERS = 100
MAX_ENV = 1000
MAX_NAME = 63
MAX_ENV_NAME = 1024

POD_FIELDS = """
activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy
enableServiceLinks ephemeralContainers evictionResponders hostAliases hostIPC hostNetwork
hostPID hostUsers hostnameOverride imagePullSecrets nodeName nodeSelector os overhead
preemptionPolicy priority priorityClassName readinessGates resourceClaims resources
runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount
serviceAccountName setHostnameAsFQDN shareProcessNamespace terminationGracePeriodSeconds
tolerations topologySpreadConstraints volumes workloadRef
"""
"""Of every Kubernetes that is tested: `workloadRef` is 1.35's forerunner of `schedulingGroup`."""

CONTAINER_FIELDS = """
args command envFrom image imagePullPolicy lifecycle livenessProbe ports readinessProbe
resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin
stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts
workingDir
"""

_KEEP = {"x-kubernetes-preserve-unknown-fields": True}

_NOT_RESERVED = rule(
    f"!(self.name in [{', '.join(repr(name) for name in RESERVED)}])",
    "this variable is set by the operator: remove it from the template",
    says="self.name + ' is set by the operator: remove it from the template; it follows from "
    "spec.PARALLEL_INSTANCES, spec.processesPerInstance and spec.port'",
    field="name",
)
_NEVER_RESTARTS = rule(
    "!has(self.restartPolicy) || self.restartPolicy == 'Never'",
    "must be Never or absent: the operator restarts the whole group, as spec.maxRestarts says",
    field="restartPolicy",
)


def pod_template(description: str) -> Schema:
    """The schema of one pod template."""
    return {
        "description": description,
        "type": "object",
        "required": ["spec"],
        **_KEEP,
        "properties": {"metadata": _metadata(), "spec": _pod()},
    }


def _metadata() -> Schema:
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "description": "Labels and annotations of the pods.",
        "type": "object",
        **_KEEP,
        "properties": {
            "labels": {"description": "Labels of the pods.", **texts},
            "annotations": {"description": "Annotations of the pods.", **texts},
        },
    }


def _pod() -> Schema:
    return {
        "description": "What runs in the pods; see kubectl explain pod.spec.",
        "type": "object",
        "required": ["containers"],
        **_KEEP,
        "properties": {
            "containers": {**_containers("Containers of the pod."), "minItems": 1},
            "initContainers": _containers("Containers that run, in turn, before the others."),
            "hostname": _text("Set by the operator."),
            "subdomain": _text("Set by the operator."),
            "restartPolicy": _text("Never: the operator restarts the whole group itself."),
            **_as_in("pod.spec", POD_FIELDS.split()),
        },
        "x-kubernetes-validations": [
            _NEVER_RESTARTS,
            _set_by_us("hostname"),
            _set_by_us("subdomain"),
        ],
    }


def _set_by_us(field: str) -> Schema:
    return rule(
        f"!has(self.{field})",
        f"{field} is set by the operator, so that ranks find each other: remove it",
        field=field,
    )


def _containers(description: str) -> Schema:
    container = {
        "description": "One container.",
        "type": "object",
        "required": ["name"],
        **_KEEP,
        "properties": {
            "name": {
                **_text("Name of the container; trainer is the one that trains."),
                "maxLength": MAX_NAME,
            },
            "env": _list_by_name("Variables of the container.", _variable(), MAX_ENV),
            **_as_in("pod.spec.containers", CONTAINER_FIELDS.split()),
        },
    }
    return _list_by_name(description, container, MAX_CONTAINERS)


def _variable() -> Schema:
    return {
        "description": "One variable.",
        "type": "object",
        "required": ["name"],
        **_KEEP,
        "properties": {
            "name": {**_text("Name of the variable."), "minLength": 1, "maxLength": MAX_ENV_NAME},
            "value": _text("Its text; a number needs quotes."),
            **_as_in("pod.spec.containers.env", ["valueFrom"]),
        },
        "x-kubernetes-validations": [_NOT_RESERVED],
    }


def _list_by_name(description: str, item: Schema, longest: int) -> Schema:
    """A list in which a name may stand once, as in a pod."""
    return {
        "description": description,
        "type": "array",
        "maxItems": longest,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": item,
    }


def _text(description: str) -> Schema:
    return {"description": description, "type": "string"}


def _as_in(path: str, names: Iterable[str]) -> Schema:
    return {name: {"description": f"See kubectl explain {path}.{name}.", **_KEEP} for name in names}
