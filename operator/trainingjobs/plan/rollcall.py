"""The reporter in the pods: what is mounted, what Python finds first, and when nothing of ours is.

It must never keep a pod from starting: the files are optional, and a template that has its own
things where ours would be gets none of them.
"""

from collections.abc import Mapping
from typing import Any

from trainingjobs.model import containers, labels, names
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.reserved import REPORT_URL, USER_PATH
from trainingjobs.model.site import Site, flat, flat_key
from trainingjobs.model.spec import Manifest, RollCall

VOLUME = "trainingjob-rollcall"
MOUNT = "/run/trainingjob"
CODE = f"{MOUNT}/code"
TOKEN_SECONDS = 3600
PATH = "PYTHONPATH"


def on(job: TrainingJob, site: Site) -> bool:
    """True when the pods of the job are to report."""
    return bool(site.report_url) and job.spec.roll_call is RollCall.ENABLED


def files(site: Site) -> dict[str, str]:
    """The reporter as a ConfigMap holds it: no key has a slash."""
    return flat(site.reporter)


def equipped(spec: Manifest, job: TrainingJob, site: Site) -> Manifest:
    """The pod's spec with the reporter in its training container, where there is room for it."""
    main = containers.trainer({"spec": spec})
    if not on(job, site) or not _fits(spec, main):
        return spec
    volume = _volume(names.rollcall(job.name, job.uid, site.digest), site.reporter)
    return {
        **spec,
        "containers": [
            _reporting(item, site.report_url) if item is main else item
            for item in spec["containers"]
        ],
        "volumes": [*(spec.get("volumes") or []), volume],
    }


def _fits(spec: Manifest, container: Manifest) -> bool:
    volumes = containers.objects(spec, "volumes")
    mounts = containers.objects(container, "volumeMounts")
    if volumes is None or mounts is None or _may_hide_a_path(container):
        return False
    taken = any(volume.get("name") == VOLUME for volume in volumes)
    return not taken and not any(_meets(str(mount.get("mountPath"))) for mount in mounts)


def _may_hide_a_path(container: Manifest) -> bool:
    """A PYTHONPATH of the user's may come from `envFrom`, where it is not seen: ours would win."""
    seen = any(item.get("name") == PATH for item in container.get("env") or [])
    return bool(container.get("envFrom")) and not seen


def _meets(path: str) -> bool:
    """True when the path is ours, or one of them lies in the other.

    In a volume of the user's that cannot be written the container would not start.
    """
    own, other = f"{MOUNT}/", f"{path.rstrip('/')}/"
    return own.startswith(other) or other.startswith(own)


def _volume(config_map: str, reporter: Mapping[str, str]) -> Manifest:
    items = [{"key": flat_key(path), "path": _place(path)} for path in sorted(reporter)]
    code = {"name": config_map, "optional": True, "items": items}
    token = {"audience": labels.AUDIENCE, "expirationSeconds": TOKEN_SECONDS, "path": "token"}
    sources = [{"configMap": code}, {"serviceAccountToken": token}]
    return {"name": VOLUME, "projected": {"sources": sources}}


def _place(path: str) -> str:
    """Ours are on PYTHONPATH, before all else; what users import is put behind all else."""
    return path if path.startswith("public/") else f"code/{path}"


def _reporting(container: Manifest, url: str) -> Manifest:
    mount = {"name": VOLUME, "mountPath": MOUNT, "readOnly": True}
    env = [item for own in container.get("env") or [] for item in _behind(own)]
    first = [{"name": REPORT_URL, "value": url}]
    if all(item["name"] != PATH for item in env):
        first.append({"name": PATH, "value": CODE})
    return {
        **container,
        "env": [*first, *env],
        "volumeMounts": [*(container.get("volumeMounts") or []), mount],
    }


def _behind(variable: dict[str, Any]) -> list[Manifest]:
    """The user's variable; what is on a PYTHONPATH of the user's comes behind ours."""
    if variable["name"] != PATH:
        return [variable]
    if variable.get("valueFrom") is not None:
        own = {**variable, "name": USER_PATH}
        return [own, {"name": PATH, "value": f"{CODE}:$({USER_PATH})"}]
    value = variable.get("value")
    return [{**variable, "value": f"{CODE}:{value}" if value else CODE}]
