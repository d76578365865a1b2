"""What happens to a job's service: made before the first pod, and kept at the job's port."""

from trainingjobs.model.spec import Manifest
from trainingjobs.plan import manifests
from trainingjobs.plan.case import Case


def created(case: Case) -> tuple[Manifest, ...]:
    """The service, where it is not there."""
    return () if case.seen.service else (manifests.service(case.job),)


def changed(case: Case) -> tuple[Manifest, ...]:
    """The service, where it is there with other ports than the job has now."""
    found = case.seen.service
    if found is None or found.ports == (case.job.spec.port,):
        return ()
    wanted = manifests.service(case.job)
    return (manifests.patch(found, wanted, {"ports": wanted["spec"]["ports"]}),)
