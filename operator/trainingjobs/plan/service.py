"""What happens to a job's service: made before the first pod, and kept as the job needs it.

What of ours somebody edited is set right; what we say nothing of is theirs.
"""

from collections.abc import Mapping
from typing import Any

from trainingjobs.model.spec import Manifest
from trainingjobs.plan import manifests
from trainingjobs.plan.case import Case


def created(case: Case) -> tuple[Manifest, ...]:
    """The service, where it is not there."""
    return () if case.seen.service else (manifests.service(case.job),)


def changed(case: Case) -> tuple[Manifest, ...]:
    """The service, where it is there and says something else than it would if it were made now."""
    found = case.seen.service
    if found is None:
        return ()
    wanted = manifests.service(case.job)
    ours: Manifest = wanted["spec"]
    before = {field: found.spec.get(field) for field in ours}
    unlike = {field: _whole(before[field], it) for field, it in ours.items() if before[field] != it}
    return (manifests.patch(found, wanted, unlike),) if unlike else ()


def _whole(before: Any, wanted: Any) -> Any:
    """The value as a merge patch says it, which takes from a map what it names as null alone."""
    if isinstance(before, Mapping) and isinstance(wanted, Mapping):
        return {**dict.fromkeys(before), **wanted}
    return wanted
