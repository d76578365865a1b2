"""What goes wrong in training: a small script for each fault, and the jobs that run them.

The line that has to be named carries a comment in its script; no number is written down here.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e import jobs
from e2e.harness import Manifest

SCRIPTS = Path(__file__).with_name("scripts")
MOUNT = "/scripts"
STALL = 10
"""Seconds without a step that are a stall here: with the default of 300 the tests would be long."""
EVALUATION = 4 * STALL
"""Seconds that rank 0 evaluates: as if it were twenty minutes of the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One job, and what is special about it."""

    script: str
    instances: int = 3
    program: tuple[str, ...] = ("python",)
    arguments: tuple[str, ...] = ()
    operator_at: str = ""
    """An address that the pods take for the operator's."""
    spec: Manifest = field(default_factory=dict)

    @property
    def heard(self) -> bool:
        """Whether the operator hears of its ranks."""
        return not self.operator_at and self.spec.get("rollCall") != "Disabled"


UNDER_A_SHELL = ("sh", "-c", '"$@"; exit $?', "-", "python")
"""The first process of a container cannot be stopped from within."""
TWICE: dict[str, Any] = {"instances": 2, "spec": {"processesPerInstance": 2}}

NOWHERE = "192.0.2.1"
"""An address of RFC 5737, behind which there is nothing."""

SCENARIOS = {
    "late": Scenario(script="late"),
    "skip": Scenario(script="skip"),
    "stopped": Scenario(script="stopped", program=UNDER_A_SHELL),
    "loader": Scenario(script="loader"),
    "uneven": Scenario(script="uneven"),
    "once": Scenario(script="once", spec={"onStall": "Restart"}),
    "torchrun": Scenario(script="several", program=("torchrun",), **TWICE),
    "spawned": Scenario(script="several", **TWICE),
    "unsharded": Scenario(script="unsharded", instances=2),
    "unwrapped": Scenario(script="unwrapped", instances=2),
    "slow": Scenario(script="slow"),
    "broken": Scenario(script="broken", spec={"maxRestarts": 0, "cleanPodPolicy": "All"}),
    "undestroyed": Scenario(script="undestroyed", instances=2),
    "disabled": Scenario(script="healthy", instances=2, spec={"rollCall": "Disabled"}),
    "closed": Scenario(script="healthy", instances=2, operator_at="127.0.0.1"),
    "dropped": Scenario(script="healthy", instances=2, operator_at=NOWHERE),
    "healthy": Scenario(script="healthy", instances=2),
    "evaluation": Scenario(
        script="evaluation",
        instances=2,
        arguments=(str(EVALUATION),),
    ),
}
"""In the order of their start. The last one is at work for long, where the others only wait."""


def line(script: str, mark: str = "guilty") -> str:
    """A marked line as the roll call names it: `late.py:12`."""
    (number,) = numbers(script, mark)
    return f"{script}.py:{number}"


def numbers(script: str, *marks: str) -> list[int]:
    """The numbers of the lines that end with these marks, in the order of the marks."""
    rows = (SCRIPTS / f"{script}.py").read_text().splitlines()
    return [
        place for mark in marks for place, row in enumerate(rows, 1) if row.endswith(f"# {mark}")
    ]


def config_map() -> Manifest:
    """All scripts, for the pods to mount."""
    data = {path.name: path.read_text() for path in SCRIPTS.glob("*.py")}
    metadata = {"name": "scripts"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def job(name: str, operator: str) -> Manifest:
    """The job of a scenario; its pods know the operator by this name."""
    scenario = SCENARIOS[name]
    made = jobs.a_job(name, scenario.instances, _template(scenario, operator))
    made["spec"] |= {"stallTimeoutSeconds": STALL} | scenario.spec
    return made


def _template(scenario: Scenario, operator: str) -> Manifest:
    template = jobs.a_template(OMP_NUM_THREADS="1")
    pod = template["spec"]
    (container,) = pod["containers"]
    script = f"{scenario.script}.py"
    container["command"] = [*scenario.program, script, *scenario.arguments]
    container["workingDir"] = MOUNT
    container["volumeMounts"] = [{"name": "scripts", "mountPath": MOUNT}]
    pod["volumes"] = [{"name": "scripts", "configMap": {"name": "scripts"}}]
    if scenario.operator_at:
        pod["hostAliases"] = [{"ip": scenario.operator_at, "hostnames": [operator]}]
    return template
