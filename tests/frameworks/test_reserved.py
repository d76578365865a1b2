"""Every variable that makes a group is one that a template may not set, and no other is."""

import pytest

from builders import DOMAIN
from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place
from trainingjobs.model.job import TrainingJob, parse
from trainingjobs.model.reserved import REPORT_URL, RESERVED, USER_PATH
from trainingjobs.model.spec import Framework


def _variables(framework: Framework) -> set[str]:
    template = {"spec": {"containers": [{"name": "trainer"}]}}
    spec = {"PARALLEL_INSTANCES": 3, "framework": framework, "template": template}
    job = parse({"metadata": {"name": "mnist", "namespace": "a", "uid": "1"}, "spec": spec})
    assert isinstance(job, TrainingJob)
    return set(frameworks.environment(Place(job=job, rank=1, domain=DOMAIN)))


@pytest.mark.parametrize("framework", list(Framework))
def test_what_a_framework_sets_is_reserved(framework: Framework) -> None:
    assert _variables(framework) <= set(RESERVED)


def test_nothing_else_is_reserved() -> None:
    ours = {REPORT_URL, USER_PATH}
    assert set().union(*map(_variables, Framework)) | ours == set(RESERVED)
