"""One document in, one TrainingJob out, with notes; or the document as it was; or why not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from trainingjobs.convert import jobset, mpi, options, policy, replicas, traces, trainjob, volcano
from trainingjobs.convert.bounds import bounded
from trainingjobs.convert.group import Group, manifest
from trainingjobs.convert.source import NotConvertible, Note, Source
from trainingjobs.convert.trainjob import Runtimes
from trainingjobs.model.spec import Framework, Manifest

_KUBEFLOW = "kubeflow.org"
_PROCESSES = "processesPerInstance"
_TRAINER = "trainer.kubeflow.org"
_NOT_SERVED = frozenset({"XGBoostJob", "PaddleJob", "MXJob", "OptimizationJob"})


@dataclass(frozen=True, slots=True)
class Converted:
    """A TrainingJob, and what it is not as the document was."""

    manifest: Manifest
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A training job of which no TrainingJob can be made."""

    why: str


@dataclass(frozen=True, slots=True)
class Other:
    """A document that is no training job: it stays as it is."""


Result = Converted | Refused | Other
_Maker = Callable[[Source, Runtimes], Group]


def _replicas(kind: str) -> _Maker:
    return lambda job, _: replicas.group(replicas.KINDS[kind], job)


_MAKERS: Mapping[tuple[str, str], _Maker] = MappingProxyType(
    {
        **{(_KUBEFLOW, kind): _replicas(kind) for kind in replicas.KINDS},
        (_TRAINER, "TrainJob"): trainjob.group,
        ("jobset.x-k8s.io", "JobSet"): lambda job, _: jobset.group(job),
        ("batch.volcano.sh", "Job"): lambda job, _: volcano.group(job),
    }
)


def convert(document: Any, runtimes: Runtimes = MappingProxyType({})) -> Result:
    """What becomes of one document.

    Args:
        document: as parsed.
        runtimes: the manifests of Kubeflow's runtimes, as far as they are known.
    """
    api, kind = identity(document)
    maker = _maker(api, kind)
    if maker is None:
        served = api.partition("/")[0] not in {_KUBEFLOW, _TRAINER} or kind not in _NOT_SERVED
        return Other() if served else Refused(f"a {kind} cannot be converted: no such framework")
    notes: list[Note] = []
    try:
        bounded(document)
        job = Source(document, "", notes)
        done = manifest(job, _counted(job, document, maker(job, runtimes)))
    except NotConvertible as error:
        return Refused(str(error))
    name = str(done["metadata"].get("name", ""))
    for part in ("template", "masterTemplate"):
        template = done["spec"].get(part)
        if template:
            notes += traces.notes(template, name, f"spec.{part}")
            notes += options.notes(template, f"spec.{part}", done["spec"].get(_PROCESSES))
    return Converted(done, tuple(dict.fromkeys(notes)))


def _counted(job: Source, document: Any, group: Group) -> Group:
    """The group with as many processes as its commands start, where the job does not say it."""
    if group.framework is not Framework.PYTORCH or _PROCESSES in group.fields:
        return group
    told = options.processes([document, *group.sources, group.template, group.master])
    found = told & set(policy.PROCESSES)
    if len(found) != 1:
        guess = {} if told or group.guess is None else {_PROCESSES: group.guess}
        return replace(group, fields={**group.fields, **guess})
    (number,) = found
    job.note(
        f"spec.{_PROCESSES}", f"{number} was taken from what the pods run", "see that it is so"
    )
    return replace(group, fields={**group.fields, _PROCESSES: number})


def identity(document: Any) -> tuple[str, str]:
    """The apiVersion and the kind, empty where it has none."""
    found = document if isinstance(document, Mapping) else {}
    return str(found.get("apiVersion") or ""), str(found.get("kind") or "")


def _maker(api: str, kind: str) -> _Maker | None:
    group, _, _ = api.partition("/")
    if (group, kind) == (_KUBEFLOW, "MPIJob"):
        return lambda job, _: mpi.group(job, api)
    return _MAKERS.get((group, kind))
