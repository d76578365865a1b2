"""Every variable that makes a group is one that a template may not set, and no other is."""

import pytest

from builders import DOMAIN
from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.reserved import REPORT_URL, RESERVED, USER_PATH
from trainingjobs.model.spec import Framework

FOR_JAX = {
    "SLURM_JOB_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "JAX_LOCAL_DEVICE_IDS",
}
"""A template may set these: they are another launcher's names, or a choice of the user's."""


def _variables(framework: Framework) -> set[str]:
    container = {"name": "trainer", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {"spec": {"containers": [container]}}
    spec = {"PARALLEL_INSTANCES": 3, "framework": framework, "template": template}
    job = parse({"metadata": {"name": "mnist", "namespace": "a", "uid": "1"}, "spec": spec})
    assert isinstance(job, TrainingJob)
    return set(frameworks.environment(Place(job=job, rank=1, domain=DOMAIN)))


@pytest.mark.parametrize("framework", list(Framework))
def test_what_a_framework_sets_is_reserved(framework: Framework) -> None:
    yielding = FOR_JAX if framework is Framework.JAX else set()
    assert _variables(framework) - set(RESERVED) == yielding


def test_nothing_else_is_reserved() -> None:
    ours = {REPORT_URL, USER_PATH}
    assert set().union(*map(_variables, Framework)) - FOR_JAX | ours == set(RESERVED)
