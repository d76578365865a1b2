"""Where numbers, choices and names end, and what stands where nothing was said."""

import json

import pytest

from integration.jobs import Jobs, a_job, changed
from trainingjobs.model.spec import MAX_SECONDS, Spec

pytestmark = pytest.mark.integration

BOUNDS = {
    "spec.PARALLEL_INSTANCES": (1, 10_000),
    "spec.processesPerInstance": (1, 1024),
    "spec.port": (1024, 65_535),
    "spec.maxRestarts": (0, 10_000),
    "spec.activeDeadlineSeconds": (1, MAX_SECONDS),
    "spec.ttlSecondsAfterFinished": (0, MAX_SECONDS),
    "spec.placementTimeoutSeconds": (1, MAX_SECONDS),
    "spec.startupTimeoutSeconds": (1, MAX_SECONDS),
    "spec.stallTimeoutSeconds": (1, MAX_SECONDS),
    "spec.failureRules.0.exitCodes.0": (1, 255),
}
CHOICES = {
    "framework": ["PyTorch", "TensorFlow", "JAX", "MPI", "Horovod", "None"],
    "successPolicy": ["AllInstances", "Master"],
    "cleanPodPolicy": ["Running", "All", "None"],
    "onStall": ["Report", "Restart"],
    "rollCall": ["Enabled", "Disabled"],
}
GOOD_NAMES = ["a", "7", "a" * 63, "a" * 64, "x" * 253, "team.mnist-2"]
BAD_NAMES = ["a" * 254, "Mnist", "mnist_2", "mnist-", "größe", "モデル", "a b", "..", "a..b"]


@pytest.mark.parametrize(("path", "bounds"), BOUNDS.items(), ids=BOUNDS)
def test_numbers_end_where_they_should(jobs: Jobs, path: str, bounds: tuple[int, int]) -> None:
    body = a_job(failureRules=[{"exitCodes": [1], "action": "Fail"}])
    low, high = bounds
    for value in (low, high):
        answer = jobs.try_create(changed(body, path, value))
        assert answer.accepted, answer.message
    for value in (low - 1, high + 1, -(2**40), 2**40):
        assert _shown(path) in jobs.try_create(changed(body, path, value)).message


def test_every_number_of_the_spec_has_its_bounds_tested() -> None:
    fields = Spec.model_json_schema()["properties"]
    numbers = {f"spec.{name}" for name, field in fields.items() if "integer" in json.dumps(field)}
    assert numbers <= {path.split(".0")[0] for path in BOUNDS}


@pytest.mark.parametrize(("field", "values"), CHOICES.items(), ids=CHOICES)
def test_choices_are_closed(jobs: Jobs, field: str, values: list[str]) -> None:
    assert all(jobs.try_create(a_job(**{field: value})).accepted for value in values)
    for wrong in (values[0].lower(), values[0].upper(), "", "Other"):
        message = jobs.try_create(a_job(**{field: wrong})).message
        assert f"spec.{field}: Unsupported value" in message
        assert all(f'"{value}"' in message for value in values)


@pytest.mark.parametrize("name", GOOD_NAMES, ids=lambda name: f"{len(name)}-{name[:8]}")
def test_any_name_of_kubernetes_will_do(jobs: Jobs, name: str) -> None:
    answer = jobs.try_create(a_job(name))
    assert answer.accepted, answer.message


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: f"{len(name)}-{name[:8]}")
def test_other_names_are_refused(jobs: Jobs, name: str) -> None:
    assert "metadata.name: Invalid value" in jobs.try_create(a_job(name)).message


def test_defaults_are_shown_as_the_models_have_them(jobs: Jobs) -> None:
    minimal = a_job()
    shown = jobs.try_create(minimal).body["spec"]
    models = Spec.model_validate(minimal["spec"])
    assert shown == models.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert shown["port"] == 29500
    assert shown["suspend"] is False


def _shown(path: str) -> str:
    """`spec.rules.0` as the API server writes it."""
    return path.replace(".0", "[0]")
