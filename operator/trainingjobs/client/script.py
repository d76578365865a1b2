"""A job made of a script: the files travel in a ConfigMap, so no image has to be built.

Pure: what is read of the disk, and what is made on the cluster, is others' business.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainingjobs.client.job import Manifest
from trainingjobs.model import labels, names

MAX_BYTES = 1_000_000
"""Of all files together: the API server takes one MiB, with their names."""
FOLDER = "/run/script"
IMAGE = "TRAININGJOB_IMAGE"
"""The variable that names the image of who names none."""
VOLUME = "trainingjob-script"
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What to train with, on how many pods."""

    files: Mapping[str, str]
    """Names and texts; the first is the one that is run."""
    image: str
    instances: int = 1
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    framework: str | None = None
    processes: int | str | None = None
    """In each pod; torchrun starts them, unless the script does that itself."""
    torchrun: bool | None = None
    gpus: int = 0
    cpus: str | None = None
    memory: str | None = None
    user: int | None = None
    """The user's number in the container; with it the pods are welcome in restricted namespaces."""
    max_restarts: int | None = None


def problem(files: Mapping[str, str]) -> str | None:
    """Why these files cannot travel in a ConfigMap, if they cannot."""
    size = sum(len(name) + len(text.encode()) for name, text in files.items())
    if size > MAX_BYTES:
        return (
            f"the files have {size:,} bytes, and a ConfigMap takes {MAX_BYTES:,}: put data on a "
            "volume and code into the image"
        )
    odd = next((name for name in files if not _KEY.fullmatch(name)), None)
    if odd is not None:
        return f"{odd!r} is no name for a file that is sent: letters, digits, '.', '-' and '_'"
    return None


def name(file: str, chance: str) -> str:
    """A job's name from a file's or a function's, and a few characters that no other job has."""
    stem = _NAME.sub("-", (file.rpartition(".")[0] or file).lower()).strip("-")
    return f"{stem[: names.MAX_BASE - len(chance) - 1].strip('-') or 'job'}-{chance}"


def job(script: Script, name: str, namespace: str) -> Manifest:
    """The job that runs the script."""
    spec: Manifest = {"PARALLEL_INSTANCES": script.instances}
    for key, value in (
        ("framework", script.framework),
        ("processesPerInstance", script.processes),
        ("maxRestarts", script.max_restarts),
    ):
        if value is not None:
            spec[key] = value
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, "template": {"spec": _pod(script, name)}},
    }


def config_map(script: Script, job: Manifest) -> Manifest:
    """The script's files, which go with the job; one that is not made yet owns nothing."""
    metadata = job["metadata"]
    made: Manifest = {
        "name": _config_map_name(script.files, metadata["name"]),
        "namespace": metadata["namespace"],
    }
    if metadata.get("uid"):
        made["ownerReferences"] = [owner(metadata)]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": made,
        "immutable": True,
        "data": dict(script.files),
    }


def owner(metadata: Manifest) -> Manifest:
    """The reference that lets an object go with this job."""
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def again(old: Manifest, name: str) -> Manifest:
    """A job like one that is over, under another name."""
    metadata = old["metadata"]
    notes = {
        key: text
        for key, text in (metadata.get("annotations") or {}).items()
        if not key.startswith("kubectl.kubernetes.io/")
    }
    kept = {"labels": metadata.get("labels"), "annotations": notes}
    own = {key: value for key, value in kept.items() if value}
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"name": name, "namespace": metadata["namespace"], **own},
        "spec": {**old["spec"], "suspend": False},
    }


def next_name(name: str) -> str:
    """`mnist-r2` after `mnist`, `mnist-r3` after that."""
    found = re.fullmatch(r"(.+)-r(\d{1,6})", name)
    stem, number = (found[1], int(found[2])) if found else (name, 1)
    return f"{stem}-r{number + 1}"


def sent_with(manifest: Manifest) -> list[str]:
    """Names of the ConfigMaps that scripts of this job came in."""
    templates = (manifest["spec"].get(key) or {} for key in ("template", "masterTemplate"))
    volumes = (item for one in templates for item in (one.get("spec") or {}).get("volumes") or [])
    return sorted({item["configMap"]["name"] for item in volumes if item.get("name") == VOLUME})


def _config_map_name(files: Mapping[str, str], job_name: str) -> str:
    text = "\0".join(f"{name}\0{files[name]}" for name in sorted(files))
    return names.script(job_name, hashlib.sha256(text.encode()).hexdigest())


def _pod(script: Script, name: str) -> Manifest:
    volume = {"name": VOLUME, "configMap": {"name": _config_map_name(script.files, name)}}
    spec: Manifest = {"containers": [_container(script)], "volumes": [volume]}
    if script.user is not None:
        seccomp = {"type": "RuntimeDefault"}
        own = {"runAsNonRoot": True, "runAsUser": script.user, "seccompProfile": seccomp}
        spec["securityContext"] = own
    return spec


def _container(script: Script) -> Manifest:
    main = f"{FOLDER}/{next(iter(script.files))}"
    several = script.processes not in {None, 1}
    starter = "torchrun" if several and script.torchrun is not False else "python"
    mount = {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}
    made: dict[str, Any] = {
        "name": labels.TRAINER,
        "image": script.image,
        "command": [starter, main, *map(_literal, script.args)],
        "env": [{"name": key, "value": _literal(text)} for key, text in script.env.items()],
        "resources": _resources(script),
        "volumeMounts": [mount],
    }
    if script.user is not None:
        dropped = {"drop": ["ALL"]}
        made["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": dropped}
    return {key: value for key, value in made.items() if value}


def _literal(text: str) -> str:
    """What arrives as this text: Kubernetes puts variables for `$(NAME)`, and `$` for `$$`."""
    return text.replace("$", "$$")


def _resources(script: Script) -> Manifest:
    plain = {"cpu": script.cpus, "memory": script.memory}
    asked: Manifest = {key: value for key, value in plain.items() if value}
    limits = {**asked, **({"nvidia.com/gpu": script.gpus} if script.gpus else {})}
    found = {"requests": asked, "limits": limits}
    return {key: value for key, value in found.items() if value}
