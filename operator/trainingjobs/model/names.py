"""The only place that forms the names of a job's objects.

A name is a function of the job's name and the rank, and of nothing else: so a create that
is repeated finds its own child instead of making a twin.
"""

import hashlib
import re

MASTER_RANK = 0
_LONGEST_SUFFIX = len("-worker-9998")
MAX_BASE = 63 - _LONGEST_SUFFIX
_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_HASH_DIGITS = 8


def base(job_name: str) -> str:
    """The job's name as a DNS label that leaves room for `-worker-9998`.

    A name that is too long, has dots or starts with a digit is shortened and gets a hash
    of the whole name, so that two such jobs do not meet.
    """
    if len(job_name) <= MAX_BASE and _DNS_LABEL.fullmatch(job_name):
        return job_name
    digest = hashlib.sha256(job_name.encode()).hexdigest()[:_HASH_DIGITS]
    stem = job_name.replace(".", "-")
    stem = stem if stem[:1].isalpha() else f"j-{stem}"
    return f"{stem[: MAX_BASE - _HASH_DIGITS - 1].rstrip('-')}-{digest}"


def service(job_name: str) -> str:
    """Name of the headless service."""
    return base(job_name)


def pod_group(job_name: str) -> str:
    """Name of the pod group, where a scheduler places the group as a whole."""
    return base(job_name)


def rollcall(job_name: str, job_uid: str, digest: str) -> str:
    """Name of the ConfigMap with the reporter of one version.

    The uid keeps a job from meeting what is left of a deleted one of its name.
    """
    own = hashlib.sha256(f"{job_uid}/{digest}".encode()).hexdigest()
    return f"{base(job_name)}-rollcall-{own[:_HASH_DIGITS]}"


def launcher(job_name: str, job_uid: str, digest: str) -> str:
    """Name of the ConfigMap with the programs of one version that start MPI's processes."""
    own = hashlib.sha256(f"{job_uid}/{digest}".encode()).hexdigest()
    return f"{base(job_name)}-launcher-{own[:_HASH_DIGITS]}"


def launch_key(job_name: str, job_uid: str) -> str:
    """Name of the Secret with the key that starts MPI's processes.

    Whether it is the job's own is not asked, so nobody can know it before the job has its uid.
    """
    own = hashlib.sha256(f"launch-key/{job_uid}".encode()).hexdigest()
    return f"{base(job_name)}-launch-key-{own[:_HASH_DIGITS]}"


def lists(job_uid: str, attempt: int) -> str:
    """Name of the folder with the lists of an attempt's hosts, in a memory that pods may share."""
    own = hashlib.sha256(job_uid.encode()).hexdigest()
    return f"trainingjob-{own[:_HASH_DIGITS]}-{attempt}"


def stacks(job_name: str, attempt: int) -> str:
    """Name of the ConfigMap with the stacks of an attempt that stalled."""
    return f"{base(job_name)}-stacks-{attempt}"


def script(job_name: str, digest: str) -> str:
    """Name of the ConfigMap with a script that was sent with the job."""
    return f"{base(job_name)}-script-{digest[:_HASH_DIGITS]}"


def role(rank: int) -> str:
    """`master` for rank 0, `worker` for all others."""
    return "master" if rank == MASTER_RANK else "worker"


def pod(job_name: str, rank: int) -> str:
    """`mnist-master` for rank 0, `mnist-worker-0` for rank 1, and so on."""
    if rank == MASTER_RANK:
        return f"{base(job_name)}-master"
    return f"{base(job_name)}-worker-{rank - 1}"


def subdomain(job_name: str, namespace: str, domain: str) -> str:
    """The DNS domain of a job's pods."""
    return f"{service(job_name)}.{namespace}.svc.{domain}"


def address(job_name: str, namespace: str, rank: int, domain: str) -> str:
    """The fully qualified name of one rank's pod, as it stands in its own /etc/hosts."""
    return f"{pod(job_name, rank)}.{subdomain(job_name, namespace, domain)}"
