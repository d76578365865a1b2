"""Jobs whose master starts the ranks of all instances: what they get, and what they must have.

The master's command runs as it stands once every worker listens; a worker's command is the door.
"""

import hashlib
import hmac
import re
from base64 import b64encode

from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.frameworks.mpi import FOLDER
from trainingjobs.model import containers, names
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.site import Site, flat, flat_key
from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Failure

VOLUME = "trainingjob-launch"
KEY = "key"
_PYTHON = ("python3", "-I", "-S")
"""Without modules or variables of the user's."""
_PROGRAM = 0o555
_READABLE = 0o444
"""Whatever user the container runs as: all that runs in it is the job's own."""
_OF_THE_COMMAND = frozenset({"args", "livenessProbe", "readinessProbe", "startupProbe"})
"""What a door has nothing to do with."""
_UNREACHABLE_CODE = 75
"""Of the master's program that waits for the workers."""
_LAST_WORDS = re.compile(r"launch: could not reach \d+ of \d+ workers: .+; a NetworkPolicy has to")
"""How its last line begins then: a program of the user's may end with that code as well."""


def on(job: TrainingJob) -> bool:
    """True when the master's command starts the ranks of all instances."""
    return frameworks.launched(job.spec.framework)


def objection(job: TrainingJob) -> str | None:
    """Why these templates cannot be launched, and what to do."""
    if not on(job):
        return None
    framework = job.spec.framework.value
    if not containers.trainer(job.template(names.MASTER_RANK)).get("command"):
        return (
            f"framework {framework} needs the training container's command, such as "
            "[mpirun, python, train.py]: the image's own cannot be run once the workers are there"
        )
    ranks = range(min(job.size, 2))
    if all(_has_room(job.template(rank)) for rank in ranks):
        return None
    return (
        f"framework {framework} needs {FOLDER} and the volume's name {VOLUME}: the template "
        "has something of its own there"
    )


def unreachable(job: TrainingJob, failure: Failure) -> bool:
    """True when the master gave up waiting for its workers: no program of the user's ran."""
    last = failure.message.rstrip().rpartition("\n")[2]
    waited = failure.rank == names.MASTER_RANK and failure.exit_code == _UNREACHABLE_CODE
    return on(job) and waited and _LAST_WORDS.match(last) is not None


def files(site: Site) -> dict[str, str]:
    """The programs as a ConfigMap holds them: no key has a slash."""
    return flat(site.launcher)


def key(job: TrainingJob, site: Site) -> dict[str, str]:
    """What proves that a command comes from the job's own master, as a Secret holds it.

    It is the same each time that this process of the operator is asked; the first one that is
    made stays the job's.
    """
    made = hmac.new(site.secret, job.uid.encode(), hashlib.sha256).hexdigest()
    return {KEY: b64encode(made.encode()).decode()}


def equipped(spec: Manifest, place: Place, site: Site) -> Manifest:
    """The pod's spec with the programs in its training container, and one of them its command."""
    job = place.job
    if not on(job):
        return spec
    main = containers.trainer({"spec": spec})
    if (
        containers.objects(spec, "volumes") is None
        or containers.objects(main, "volumeMounts") is None
    ):
        return spec
    return {
        **spec,
        **_searching(spec, place),
        "containers": [
            _programmed(item, place.rank) if item is main else item for item in spec["containers"]
        ],
        "volumes": [*(spec.get("volumes") or []), _volume(job, site)],
    }


def _searching(spec: Manifest, place: Place) -> Manifest:
    """Short names resolve as well: libraries tell each other those that their hosts have."""
    domain = names.subdomain(place.job.name, place.job.namespace, place.domain)
    own = spec.get("dnsConfig") or {}
    searched = (own.get("searches") or []) if isinstance(own, dict) else None
    if not isinstance(searched, list):
        return {}
    return {"dnsConfig": {**own, "searches": [*searched, domain]}}


def _programmed(container: Manifest, rank: int) -> Manifest:
    mount = {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}
    mounted = {**container, "volumeMounts": [*(container.get("volumeMounts") or []), mount]}
    if rank == names.MASTER_RANK:
        own = container.get("command")
        whole = [*_PYTHON, f"{FOLDER}/launch", "--", *own] if isinstance(own, list) else own
        return {**mounted, "command": whole}
    kept = {name: value for name, value in mounted.items() if name not in _OF_THE_COMMAND}
    return {**kept, **_at_the_end(container), "command": [*_PYTHON, f"{FOLDER}/door"]}


def _at_the_end(container: Manifest) -> Manifest:
    """What a container says of its life, without what looks for the command once it began."""
    own = container.get("lifecycle")
    if not isinstance(own, dict):
        return {}
    return {"lifecycle": {name: value for name, value in own.items() if name != "postStart"}}


def _volume(job: TrainingJob, site: Site) -> Manifest:
    programs = {
        "name": names.launcher(job.name, job.uid, site.launcher_digest),
        "items": [
            {"key": flat_key(path), "path": path, "mode": _PROGRAM}
            for path in sorted(site.launcher)
        ],
    }
    secret = {
        "name": names.launch_key(job.name, job.uid),
        "items": [{"key": KEY, "path": KEY, "mode": _READABLE}],
    }
    return {"name": VOLUME, "projected": {"sources": [{"configMap": programs}, {"secret": secret}]}}


def _has_room(template: Manifest) -> bool:
    spec = template["spec"]
    volumes = containers.objects(spec, "volumes") or []
    mounts = containers.objects(containers.trainer(template), "volumeMounts") or []
    if any(volume.get("name") == VOLUME for volume in volumes):
        return False
    return not any(_within(str(mount.get("mountPath"))) for mount in mounts)


def _within(path: str) -> bool:
    """True for our folder, and what lies in it."""
    return f"{path.rstrip('/')}/".startswith(f"{FOLDER}/")
