"""A script as a job: what is made, and what cannot travel."""

from typing import Any

import pytest

from builders import UID
from trainingjobs.client import script as scripts
from trainingjobs.client.script import Script
from trainingjobs.model.job import TrainingJob, parse

FILES = {"train.py": "print('hello')\n", "data.py": "X = 1\n"}


def a_script(**chosen: Any) -> Script:
    return Script(**{"files": FILES, "image": "my/image:1", "instances": 4, **chosen})


def made(**chosen: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    job = scripts.job(a_script(**chosen), "mnist", "lab")
    return job, job["spec"]["template"]["spec"]["containers"][0]


def test_the_smallest_job_is_one_that_the_operator_takes() -> None:
    job, container = made()
    assert container == {
        "name": "trainer",
        "image": "my/image:1",
        "command": ["python", "/run/script/train.py"],
        "volumeMounts": [
            {"name": "trainingjob-script", "mountPath": "/run/script", "readOnly": True}
        ],
    }
    parsed = parse({**job, "metadata": {**job["metadata"], "uid": UID}})
    assert isinstance(parsed, TrainingJob)
    assert parsed.size == 4


def test_dollars_arrive_as_they_are() -> None:
    """Kubernetes puts a variable for `$(HOME)`, and one `$` for two."""
    _, container = made(args=["$(HOME)", "a$$b"], env={"A": "$(B) $C"})
    assert container["command"][2:] == ["$$(HOME)", "a$$$$b"]
    assert container["env"] == [{"name": "A", "value": "$$(B) $$C"}]


def test_all_that_may_be_chosen() -> None:
    job, container = made(
        args=["--epochs", "3"],
        env={"A": "1"},
        framework="JAX",
        processes="auto",
        gpus=2,
        cpus="500m",
        memory="4Gi",
        user=1000,
        max_restarts=0,
    )
    assert job["spec"]["framework"] == "JAX"
    assert job["spec"]["processesPerInstance"] == "auto"
    assert job["spec"]["maxRestarts"] == 0
    assert container["command"] == ["torchrun", "/run/script/train.py", "--epochs", "3"]
    assert container["env"] == [{"name": "A", "value": "1"}]
    plain = {"cpu": "500m", "memory": "4Gi"}
    assert container["resources"] == {"requests": plain, "limits": {**plain, "nvidia.com/gpu": 2}}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert job["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == 1000


def test_a_script_may_start_its_processes_itself() -> None:
    job, container = made(processes=2, torchrun=False)
    assert job["spec"]["processesPerInstance"] == 2
    assert container["command"][0] == "python"


def test_the_files_go_with_the_job() -> None:
    job, _ = made()
    found = scripts.config_map(a_script(), {**job, "metadata": {**job["metadata"], "uid": UID}})
    assert found["immutable"] is True
    assert found["data"] == FILES
    assert found["metadata"]["ownerReferences"][0]["uid"] == UID
    assert scripts.sent_with(job) == [found["metadata"]["name"]]
    assert "ownerReferences" not in scripts.config_map(a_script(), job)["metadata"]


def test_another_text_has_another_name() -> None:
    job, _ = made()
    other = scripts.config_map(a_script(files={"train.py": "2"}), job)
    assert other["metadata"]["name"] != scripts.config_map(a_script(), job)["metadata"]["name"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (FILES, None),
        ({"a.py": "x" * 1_000_000}, "a ConfigMap takes 1,000,000"),
        ({"a.py": "ü" * 500_000}, "the files have 1,000,004 bytes"),
        ({"my script.py": ""}, "is no name for a file that is sent"),
    ],
    ids=["fine", "large", "large in bytes", "odd name"],
)
def test_what_cannot_travel(files: dict[str, str], words: str | None) -> None:
    problem = scripts.problem(files)
    assert problem is None if words is None else words in str(problem)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("train.py", "train-1a2b"),
        ("My_Model v2.py", "my-model-v2-1a2b"),
        ("___.py", "job-1a2b"),
        ("x" * 200 + ".py", "x" * 46 + "-1a2b"),
    ],
)
def test_a_job_is_named_after_its_script(file: str, name: str) -> None:
    assert scripts.name(file, "1a2b") == name


@pytest.mark.parametrize(
    ("old", "new"),
    [("mnist", "mnist-r2"), ("mnist-r2", "mnist-r3"), ("a-r9", "a-r10"), ("r2", "r2-r2")],
)
def test_a_job_that_is_run_again(old: str, new: str) -> None:
    assert scripts.next_name(old) == new


def test_again_is_the_same_job_without_its_past() -> None:
    job, _ = made()
    job["metadata"] |= {
        "uid": UID,
        "labels": {"team": "a"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    anew = scripts.again({**job, "status": {"phase": "Failed"}}, "mnist-r2")
    assert anew["metadata"] == {"name": "mnist-r2", "namespace": "lab", "labels": {"team": "a"}}
    assert anew["spec"] == {**job["spec"], "suspend": False}
    assert "status" not in anew
