"""The variables that the pods get, by asking the plan for a job of each framework."""

from trainingjobs.model import containers
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.reserved import RESERVED
from trainingjobs.model.site import Site
from trainingjobs.model.spec import Framework
from trainingjobs.plan import manifests

INSTANCES, PROCESSES = 3, 2
RANK = 1
_SHOWN = 60
_SITE = Site(domain="cluster.local")


def table() -> str:
    """What worker 0 of a job of three gets, two processes in each, framework by framework."""
    job = f"a job `mnist` with {INSTANCES} instances of {PROCESSES} processes"
    parts = [f"Worker 0 of {job}; ✓ makes the group and cannot be set.\n"]
    for framework in Framework:
        rows = "".join(_row(name, value) for name, value in of(framework).items())
        parts.append(f"### {framework.value}\n\n| variable | | value |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def of(framework: Framework) -> dict[str, str]:
    """The variables of one instance."""
    pod = manifests.pod(_job(framework), RANK, _SITE)
    found = containers.trainer(pod).get("env", [])
    return {item["name"]: str(item.get("value", "")) for item in found}


def _job(framework: Framework) -> TrainingJob:
    container = {"name": "trainer", "image": "my/trainer:1", "command": ["python", "train.py"]}
    limits = {"resources": {"limits": {"cpu": "4"}}}
    parsed = parse(
        {
            "metadata": {"name": "mnist", "namespace": "lab", "uid": "uid"},
            "spec": {
                "PARALLEL_INSTANCES": INSTANCES,
                "processesPerInstance": PROCESSES,
                "framework": framework.value,
                "template": {"spec": {"containers": [container | limits]}},
            },
        }
    )
    if not isinstance(parsed, TrainingJob):
        raise TypeError(str(parsed))
    return parsed


def _row(name: str, value: str) -> str:
    short = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 2]} …"
    shown = f"`{short}`" if short else ""
    return f"| `{name}` | {'✓' if name in RESERVED else ''} | {shown} |\n"
