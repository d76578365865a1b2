"""The objects of a job: a headless service, a pod for each rank, perhaps a pod group and files."""

from trainingjobs.frameworks.base import Place
from trainingjobs.model import containers, labels, names
from trainingjobs.model.gang import KIND, Gang, GroupSeen
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import ServiceSeen
from trainingjobs.model.site import Site
from trainingjobs.model.spec import Manifest
from trainingjobs.plan import gang as gangs
from trainingjobs.plan import inject, launch, rollcall

STACKS_KEY = "stacks.txt"
MAX_STACKS = 500_000
"""Bytes: a ConfigMap holds one million."""


def service(job: TrainingJob) -> Manifest:
    """The headless service that gives every pod a name, before it is ready as well."""
    port = {"port": job.spec.port, "protocol": "TCP", "targetPort": job.spec.port}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(job, names.service(job.name)),
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {labels.JOB_UID: job.uid},
            "ports": [{"name": "rendezvous", **port}],
        },
    }


def pod_group(job: TrainingJob, gang: Gang) -> Manifest:
    """The object from which a scheduler knows that the pods are one group."""
    return {
        "apiVersion": gang.value,
        "kind": KIND,
        "metadata": _metadata(job, names.pod_group(job.name)),
        "spec": gangs.spec(job, gang),
    }


def reporter(job: TrainingJob, site: Site) -> Manifest:
    """The files that the job's pods report with."""
    name = names.rollcall(job.name, job.uid, site.digest)
    return _fixed(job, "ConfigMap", name, rollcall.files(site))


def launching(job: TrainingJob, site: Site) -> tuple[Manifest, ...]:
    """The programs that start the ranks, and the key that they know each other by."""
    if not launch.on(job):
        return ()
    programs = names.launcher(job.name, job.uid, site.launcher_digest)
    key = _fixed(job, "Secret", names.launch_key(job.name, job.uid), launch.key(job, site))
    return _fixed(job, "ConfigMap", programs, launch.files(site)), key


def stacks(job: TrainingJob, text: str) -> Manifest:
    """Where every rank stood when the current attempt was given up, for those who come later."""
    name = names.stacks(job.name, job.attempt)
    kept = text.encode()[:MAX_STACKS].decode(errors="ignore")
    return _fixed(job, "ConfigMap", name, {STACKS_KEY: kept})


def patch(found: ServiceSeen | GroupSeen, wanted: Manifest, fields: Manifest) -> Manifest:
    """What has to change in the spec of an object that is there, and in no later one of its name.

    Args:
        found: the object.
        wanted: what would be made in its place now.
        fields: those of its spec that are not as wanted; a list as a whole.
    """
    namespace = wanted["metadata"]["namespace"]
    return {
        "apiVersion": wanted["apiVersion"],
        "kind": wanted["kind"],
        "metadata": {"name": found.name, "namespace": namespace, "uid": found.uid},
        "spec": fields,
    }


def pod(job: TrainingJob, rank: int, site: Site, gang: Gang | None = None) -> Manifest:
    """The pod of one rank in the job's current attempt.

    Args:
        job: whose pod.
        rank: which instance.
        site: where the operator works.
        gang: the pod group that the pod belongs to.
    """
    template = job.template(rank)
    place = Place(job=job, rank=rank, domain=site.domain)
    fixed = {
        "hostname": names.pod(job.name, rank),
        "subdomain": names.service(job.name),
        "restartPolicy": "Never",
    }
    spec = launch.equipped(inject.pod_spec(template, place, fixed), place, site)
    plain = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _pod_metadata(job, rank),
        "spec": rollcall.equipped(spec, job, site),
    }
    return gangs.marked(plain, gang, names.pod_group(job.name))


def _fixed(job: TrainingJob, kind: str, name: str, data: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": _metadata(job, name),
        "immutable": True,
        "data": data,
    }


def _metadata(job: TrainingJob, name: str) -> Manifest:
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": labels.of_job(names.base(job.name), job.uid),
        "annotations": {labels.JOB_NAME: job.name},
        "ownerReferences": [_owner(job)],
    }


def _pod_metadata(job: TrainingJob, rank: int) -> Manifest:
    template = job.template(rank)
    own = template.get("metadata") or {}
    ours = labels.of_pod(names.base(job.name), job.uid, names.role(rank), rank, job.attempt)
    notes = {
        labels.JOB_NAME: job.name,
        labels.CONTAINER: containers.trainer(template)["name"],
    }
    return {
        "name": names.pod(job.name, rank),
        "namespace": job.namespace,
        "labels": {**(own.get("labels") or {}), **ours},
        "annotations": {**(own.get("annotations") or {}), **notes},
        "ownerReferences": [_owner(job)],
    }


def _owner(job: TrainingJob) -> Manifest:
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
