"""Every label, annotation and fixed name that we put on objects, in one place."""

GROUP = "trainingjob.dev"
VERSION = "v1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "TrainingJob"
PLURAL = "trainingjobs"

OPERATOR = f"{GROUP}/operator"
LEADER = f"{GROUP}/leader"
"""On the operator's pod that leads, and on no other."""
COMPONENT_NAME = "trainingjob-operator"

JOB_UID = f"{GROUP}/job-uid"
JOB_NAME = f"{GROUP}/job-name"
ROLE = f"{GROUP}/role"
RANK = f"{GROUP}/rank"
ATTEMPT = f"{GROUP}/attempt"
CONTAINER = f"{GROUP}/container"

APP_NAME = "app.kubernetes.io/name"
APP_INSTANCE = "app.kubernetes.io/instance"
APP_COMPONENT = "app.kubernetes.io/component"
APP_PART_OF = "app.kubernetes.io/part-of"
APP_MANAGED_BY = "app.kubernetes.io/managed-by"

AUDIENCE = f"{GROUP}/reports"
"""Whom the tokens are for with which pods prove who they are."""
STATUS_AUDIENCE = f"{GROUP}/status"
"""Whom people's tokens are for: made for this alone, so that who reads one can do nothing else."""

TRAINER = "trainer"
"""Name of the training container, where a template has more than one."""


def of_job(base_name: str, job_uid: str) -> dict[str, str]:
    """Labels that all objects of one job carry; they select its pods."""
    return {
        APP_NAME: "trainingjob",
        APP_INSTANCE: base_name,
        APP_MANAGED_BY: COMPONENT_NAME,
        JOB_UID: job_uid,
    }


def of_pod(base_name: str, job_uid: str, role: str, rank: int, attempt: int) -> dict[str, str]:
    """Labels of the pod of one rank in one attempt."""
    return of_job(base_name, job_uid) | {
        APP_COMPONENT: role,
        ROLE: role,
        RANK: str(rank),
        ATTEMPT: str(attempt),
    }


def selector(job_uid: str) -> str:
    """The label selector of one job's objects; ownership by uid decides in the end."""
    return f"{JOB_UID}={job_uid}"
