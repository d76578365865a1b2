"""The resource definition itself: the schema, and how kubectl shows and scales a job."""

from typing import Any

from trainingjobs.model import labels
from trainingjobs.model.spec import Spec
from trainingjobs.model.status import Status
from trainingjobs.schema import rules
from trainingjobs.schema.openapi import Schema, structural
from trainingjobs.schema.template import pod_template

NAME = f"{labels.PLURAL}.{labels.GROUP}"

_WIDE = 1
_COLUMNS = (
    ("Phase", "string", ".status.phase", 0),
    ("Ready", "string", ".status.ready", 0),
    ("Progress", "string", ".status.progress", 0),
    ("Restarts", "integer", ".status.restarts", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Framework", "string", ".spec.framework", _WIDE),
    ("Disruptions", "integer", ".status.disruptions", _WIDE),
    ("Master", "string", ".status.masterAddress", _WIDE),
    ("Message", "string", ".status.message", _WIDE),
)
_SCALE = {
    "specReplicasPath": ".spec.PARALLEL_INSTANCES",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def definition() -> dict[str, Any]:
    """The manifest of the resource definition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": labels.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": labels.KIND,
                "listKind": f"{labels.KIND}List",
                "plural": labels.PLURAL,
                "singular": labels.KIND.lower(),
                "shortNames": ["tj"],
                "categories": ["all"],
            },
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": labels.VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": _SCALE},
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path} | ({"priority": wide} if wide else {})
            for name, kind, path, wide in _COLUMNS
        ],
        "schema": {"openAPIV3Schema": _resource()},
    }


def _resource() -> Schema:
    return {
        "description": "A TrainingJob runs one group of pods that train a model together: a "
        "master, which is rank 0, and workers.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": "trainingjob.dev/v1.", "type": "string"},
            "kind": {"description": "TrainingJob.", "type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
    }


def _spec() -> Schema:
    schema = structural(Spec, defaults=True)
    fields: dict[str, Schema] = schema["properties"]
    for name in ("template", "masterTemplate"):
        fields[name] = pod_template(fields[name]["description"])
    fields["failureRules"]["items"]["properties"]["exitCodes"]["x-kubernetes-list-type"] = "set"
    for name, wanted in rules.OF_SPEC.items():
        (fields[name] if name else schema)["x-kubernetes-validations"] = wanted
    return schema


def _status() -> Schema:
    schema = structural(Status, defaults=False)
    schema["properties"]["conditions"] |= {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    return schema
