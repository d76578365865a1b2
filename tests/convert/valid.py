"""Whether a converted job is one that the API server would take."""

from typing import Any

import jsonschema_rs
import yaml

from trainingjobs.model.job import Invalid, parse
from trainingjobs.model.reserved import RESERVED
from trainingjobs.schema.definition import definition

SCHEMA = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
_VALIDATOR = jsonschema_rs.validator_for(
    {**SCHEMA, "$schema": "https://json-schema.org/draft/2020-12/schema"}
)
_FIELDS = set(SCHEMA["properties"]["spec"]["properties"])


def jobs_in(text: str) -> list[dict[str, Any]]:
    """The TrainingJobs in a stream of manifests."""
    found = yaml.safe_load_all(text)
    return [item for item in found if item["kind"] == "TrainingJob"]


def faults(job: dict[str, Any]) -> list[str]:
    """What is wrong with the job: by the schema, by the models, and by the schema's rules."""
    found = [str(error) for error in _VALIDATOR.iter_errors(job)]
    spec = job["spec"]
    found += [f"no field {name}" for name in spec.keys() - _FIELDS]
    metadata = {"namespace": "lab", "uid": "1", "name": "generated", **job["metadata"]}
    parsed = parse({**job, "metadata": metadata})
    found += [str(parsed)] if isinstance(parsed, Invalid) else []
    templates = [spec[name] for name in ("template", "masterTemplate") if name in spec]
    for template in templates:
        pod = template["spec"]
        found += [
            f"{name} is set" for name in ("hostname", "subdomain", "restartPolicy") if pod.get(name)
        ]
        found += _containers(pod)
    found += _sizes(spec)
    return found


def _containers(pod: dict[str, Any]) -> list[str]:
    found = []
    if [item["name"] for item in pod["containers"]].count("trainer") != 1:
        found.append("no trainer")
    for field in ("containers", "initContainers"):
        items = pod.get(field) or []
        names = [item["name"] for item in items]
        found += [f"{field}: a name twice"] if len(set(names)) < len(names) else []
        for item in items:
            variables = [variable["name"] for variable in item.get("env") or []]
            found += [f"{name} is reserved" for name in variables if name in RESERVED]
            found += ["a variable twice"] if len(set(variables)) < len(variables) else []
    return found


def _sizes(spec: dict[str, Any]) -> list[str]:
    size, elastic = spec["PARALLEL_INSTANCES"], spec.get("elastic")
    most = 500 if spec["framework"] == "TensorFlow" else 10_000
    found = [] if size <= most else ["too many"]
    if elastic and not elastic["minInstances"] <= size <= elastic["maxInstances"]:
        found.append("not within its bounds")
    return found
