"""Volcano's Job: its tasks become one group, which Volcano goes on to place as a whole."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from trainingjobs.convert import jobset, mpi, pods, policy, traces
from trainingjobs.convert.group import Group
from trainingjobs.convert.jobset import Part
from trainingjobs.convert.source import Source
from trainingjobs.model import labels
from trainingjobs.model.limits import MAX_INSTANCES
from trainingjobs.model.spec import Framework, Manifest

_PLUGINS: Mapping[str, Framework] = MappingProxyType(
    {"pytorch": Framework.PYTORCH, "tensorflow": Framework.TENSORFLOW, "mpi": Framework.MPI}
)
_PORT = re.compile(r"--port=(\d{4,5})", re.ASCII)
_LEADER = re.compile(r"--(?:master|chief)=(.+)")
_NAMES = ("worker", "master", "ps", "trainer", "mpi", "mpimaster", "mpiworker", "pytorch")
_TOLD_OF_TASK = {
    "minAvailable": ("the group is placed as a whole", "see spec.elastic.minInstances"),
    "maxRetry": ("one task is never restarted alone", "see spec.maxRestarts"),
    "dependsOn": ("all pods start together", "let the script wait for what it needs"),
    "topologyPolicy": ("the scheduler is not told", "use affinity in the template"),
    "partitionPolicy": ("the group has no parts", "use affinity in the template"),
}
_TOLD = {
    "minSuccess": ("all instances have to succeed, or the master", "see spec.successPolicy"),
    "runningEstimate": ("nobody reads it", "leave it out"),
    "networkTopology": ("the PodGroup does not say it", "make a PodGroup of your own"),
}
_PLUGIN_TOLD = {
    "ssh": ("there is no ssh between the pods", "use spec.framework: MPI for mpirun"),
    "svc": ("there are no host files", "use MASTER_ADDR and TRAININGJOB_WORKER_ADDR"),
    "env": ("there is no VC_TASK_INDEX", f"read RANK, or the pods' label {labels.RANK}"),
}
_OTHERS_END = (
    "the end of its pods was the job's; here that of all instances is",
    "let the master end as well, or set spec.successPolicy: Master",
)
_ENDS = {"AbortJob", "TerminateJob"}
_RESTARTS = {"RestartJob", "RestartTask", "RestartPod"}
_CODES = range(1, 256)
_FAILURES = {"PodFailed", "TaskFailed", "*"}
_PODS = {"PodFailed", "PodEvicted", "TaskFailed", "*"}


def group(job: Source) -> Group:
    """The group that the job describes."""
    spec = job.child("spec")
    framework, words = _plugins(spec.child("plugins"))
    found, master_ends = _tasks(spec)
    leader, rest = _led(spec, found, _leader(words) or next(iter(sorted(master_ends)), None))
    if leader and rest.name in master_ends:
        rest.source.note("policies", *_OTHERS_END)
    fields = {
        **_port(words),
        **policy.present({"maxRestarts": spec.number("maxRetry", most=policy.MAX_RESTARTS)}),
        **_policies(spec),
        **({"successPolicy": "Master"} if leader and leader.name in master_ends else {}),
        **policy.present({"ttlSecondsAfterFinished": spec.number("ttlSecondsAfterFinished")}),
    }
    _tell_of_size(spec, sum(item.count for item in found))
    spec.told(_TOLD)
    place = _Place(spec)
    spec.close()
    known = framework or traces.framework(*(item.pod.template for item in found))
    if framework is None:
        jobset.tell_guess(spec, "plugins", known)
    if leader and known is Framework.MPI:
        parts = [Part(rest.name, rest.count, pods.Pod(_merged(leader, rest)), rest.source)]
    else:
        parts = [leader, rest] if leader else [rest]
    templates = [place.placed(item.pod.template) for item in parts]
    return Group(
        framework=known or Framework.NONE,
        instances=sum(item.count for item in parts),
        template=templates[-1],
        master=templates[0],
        fields=fields,
        labels=place.labels,
    )


def _merged(leader: Part, rest: Part) -> Manifest:
    leader.source.note(
        "template",
        "the pod without ranks is gone; the first instance runs its command",
        "mpirun needs no host list and no -np",
    )
    return mpi.launched(leader.source, leader.pod, rest.pod)


class _Place:
    """What the job says of its scheduler, its queue, its priority and its volumes."""

    def __init__(self, spec: Source) -> None:
        self._scheduler = spec.text("schedulerName") or "volcano"
        self._priority = spec.text("priorityClassName")
        queue = spec.text("queue")
        self.labels = {policy.QUEUE: queue} if queue else {}
        self._volumes, self._mounts = _volumes(spec)

    def placed(self, template: Manifest) -> Manifest:
        """The template with all of it."""
        spec = template["spec"]
        containers = [
            item | {"volumeMounts": [*(item.get("volumeMounts") or []), *self._mounts]}
            if self._mounts
            else item
            for item in spec["containers"]
        ]
        volumes = [*(spec.get("volumes") or []), *self._volumes]
        new = {"schedulerName": self._scheduler, **spec, "containers": containers}
        done = {**template, "spec": new | ({"volumes": volumes} if volumes else {})}
        return policy.prioritised(done, self._priority)


def _volumes(spec: Source) -> tuple[list[Manifest], list[Manifest]]:
    volumes: list[Manifest] = []
    mounts: list[Manifest] = []
    for number, item in enumerate(spec.children("volumes")):
        path, claim = item.text("mountPath"), item.text("volumeClaimName")
        item.told({"volumeClaim": ("claims are not made", "make it, and mount it in the template")})
        item.close()
        if claim is None or path is None:
            item.note("", "no claim and path are named", "write the volume into spec.template")
            continue
        name = f"volcano-{number}"
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": name, "mountPath": path})
    return volumes, mounts


def _plugins(plugins: Source) -> tuple[Framework | None, list[str]]:
    """The framework whose plugin is there, and what that plugin is told."""
    found = next((name for name in plugins.names() if name in _PLUGINS), None)
    arguments = plugins.take(found) if found else None
    for name in (name for name in _PLUGIN_TOLD if name in plugins.names()):
        plugins.take(name)
        plugins.note(name, *_PLUGIN_TOLD[name])
    plugins.close()
    words = [str(item) for item in arguments] if isinstance(arguments, list) else []
    return (_PLUGINS[found], words) if found else (None, [])


def _port(words: list[str]) -> Manifest:
    ports = [int(it[1]) for it in map(_PORT.fullmatch, words) if it and int(it[1]) in pods.PORTS]
    return {"port": ports[0]} if ports else {}


def _leader(words: list[str]) -> str | None:
    return next((found[1] for found in map(_LEADER.fullmatch, words) if found), None)


def _tasks(spec: Source) -> tuple[list[Part], set[str]]:
    """The tasks that have pods, and the names of those whose end is the job's."""
    found: list[Part] = []
    ends: set[str] = set()
    for task in spec.children("tasks"):
        name = task.text("name") or "default"
        count = task.number("replicas", most=MAX_INSTANCES)
        ends |= {name} if _completes(task) else set()
        task.told(_TOLD_OF_TASK)
        pod = pods.converted(task.child("template"), (name, *_NAMES))
        task.close()
        found.append(Part(name, 1 if count is None else count, pod, task))
    there = [part for part in found if part.count]
    if not there:
        raise spec.refusal("tasks", "no pod is there")
    return there, ends


def _led(spec: Source, found: list[Part], first: str | None) -> tuple[Part | None, Part]:
    if any(part.name == "ps" for part in found):
        raise spec.refusal("tasks", "parameter servers have no place in a group of equals")
    return jobset.led(spec, found, "tasks", first)


def _completes(task: Source) -> bool:
    ends = False
    for item in task.children("policies"):
        events, action = _events(item), item.text("action")
        if action == "CompleteJob" and events and events <= {"TaskCompleted"}:
            ends = True
        elif not (events and events <= _PODS and action in _RESTARTS):
            what = f"{action} of one task alone" if events else f"{action} by exit code"
            item.note("action", what, "see spec.failureRules")
        item.take("exitCode")
        item.take("timeout")
        item.close()
    return ends


def _policies(spec: Source) -> Manifest:
    """What failures lead to: rules by exit code, or the end at the first of them."""
    actions: dict[int, str] = {}
    otherwise: str | None = None
    for item in spec.children("policies"):
        events, action = _events(item), item.text("action")
        code = item.number("exitCode", least=1, most=255)
        item.told({"timeout": ("nothing waits here", "see spec.stallTimeoutSeconds")})
        item.close()
        known = "Fail" if action in _ENDS else "Restart" if action in _RESTARTS else None
        if code is not None and known:
            if otherwise is None:
                actions.setdefault(code, known)
            else:
                item.note("exitCode", "a policy before it decides on all failures", "leave it out")
        elif known == "Fail" and events & _FAILURES:
            otherwise = otherwise or known
        elif known == "Restart" and events <= _PODS:
            otherwise = otherwise or (known if events & _FAILURES else None)
        else:
            item.note("action", f"{action} on {', '.join(sorted(events))}", _instead(action))
    return _ruled(actions, ends=otherwise == "Fail")


def _ruled(actions: Mapping[int, str], *, ends: bool) -> Manifest:
    """The rules; where any other failure is the end, that is a rule too if some restart."""
    if ends and "Restart" not in actions.values():
        return {"maxRestarts": 0}
    rest = {code: "Fail" for code in _CODES if ends and code not in actions}
    by_action = {
        action: [code for code, own in sorted({**actions, **rest}.items()) if own == action]
        for action in sorted({*actions.values(), *rest.values()}, reverse=True)
    }
    rules = [{"exitCodes": codes, "action": action} for action, codes in by_action.items()]
    return {"failureRules": rules} if rules else {}


def _instead(action: str | None) -> str:
    return "see spec.successPolicy" if action == "CompleteJob" else "see spec.failureRules"


def _events(item: Source) -> set[str]:
    listed, one = item.take("events"), item.take("event")
    found = listed if isinstance(listed, list) else []
    return {str(name) for name in (*found, *([one] if one else []))}


def _tell_of_size(spec: Source, size: int) -> None:
    least = spec.number("minAvailable")
    if least is not None and least < size:
        spec.note(
            "minAvailable",
            f"the group is placed as a whole, and not with {least} of {size}",
            "set spec.elastic if fewer may train",
        )
