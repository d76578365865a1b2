"""The service and the pods: what they carry, and whose word counts."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import SITE, TEMPLATE, UID, a_job
from trainingjobs.model.spec import Manifest
from trainingjobs.plan import manifests


def pod_of(template: dict[str, Any], rank: int = 1, **spec: Any) -> Manifest:
    return manifests.pod(a_job(template=template, **spec), rank, SITE)


def with_container(**more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "trainer", "image": "m", **more}]}}


def trainer(pod: Manifest) -> Manifest:
    found: Manifest = pod["spec"]["containers"][0]
    return found


def env(pod: Manifest) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in trainer(pod)["env"]}


def test_the_service_is_headless_and_names_pods_early() -> None:
    service = manifests.service(a_job())
    assert service["metadata"]["name"] == "mnist"
    assert service["spec"] == {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"trainingjob.dev/job-uid": UID},
        "ports": [{"name": "rendezvous", "port": 29500, "protocol": "TCP", "targetPort": 29500}],
    }


def test_a_pod_has_its_place_in_the_group() -> None:
    pod = pod_of(TEMPLATE)
    assert pod["metadata"]["name"] == pod["spec"]["hostname"] == "mnist-worker-0"
    assert pod["spec"]["subdomain"] == "mnist"
    assert pod["metadata"]["labels"] == {
        "app.kubernetes.io/name": "trainingjob",
        "app.kubernetes.io/instance": "mnist",
        "app.kubernetes.io/managed-by": "trainingjob-operator",
        "app.kubernetes.io/component": "worker",
        "trainingjob.dev/job-uid": UID,
        "trainingjob.dev/role": "worker",
        "trainingjob.dev/rank": "1",
        "trainingjob.dev/attempt": "1",
    }


@pytest.mark.parametrize("make", [lambda job: manifests.pod(job, 0, SITE), manifests.service])
def test_the_job_owns_what_it_makes(make: Any) -> None:
    (owner,) = make(a_job())["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("TrainingJob", UID, True)


def test_the_defaults_a_user_would_want() -> None:
    spec = pod_of(with_container(resources={"limits": {"cpu": "4"}}))["spec"]
    assert (spec["restartPolicy"], spec["enableServiceLinks"]) == ("Never", False)
    assert spec["terminationGracePeriodSeconds"] == 10
    container = spec["containers"][0]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert {"name": "OMP_NUM_THREADS", "value": "4"} in container["env"]
    assert {"name": "PYTHONUNBUFFERED", "value": "1"} in container["env"]
    assert container["volumeMounts"] == [{"name": "trainingjob-shm", "mountPath": "/dev/shm"}]
    assert spec["volumes"] == [{"name": "trainingjob-shm", "emptyDir": {"medium": "Memory"}}]


def test_threads_are_shared_out_among_processes() -> None:
    template = with_container(resources={"limits": {"cpu": "4"}})
    assert env(pod_of(template, processesPerInstance=2))["OMP_NUM_THREADS"] == "2"
    assert env(pod_of(template, processesPerInstance=8))["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in env(pod_of(TEMPLATE))


def test_the_users_own_values_win_and_nothing_appears_twice() -> None:
    template = with_container(
        env=[{"name": "OMP_NUM_THREADS", "value": "7"}, {"name": "MINE", "value": "$(RANK)"}],
        resources={"limits": {"cpu": "4"}},
        terminationMessagePolicy="File",
    )
    template["spec"]["terminationGracePeriodSeconds"] = 600
    pod = pod_of(template)
    listed = [item["name"] for item in trainer(pod)["env"]]
    assert len(listed) == len(set(listed))
    assert env(pod)["OMP_NUM_THREADS"] == "7"
    assert listed.index("RANK") < listed.index("MINE")
    assert trainer(pod)["terminationMessagePolicy"] == "File"
    assert pod["spec"]["terminationGracePeriodSeconds"] == 600


def test_a_users_own_shared_memory_stays_alone() -> None:
    template = with_container(volumeMounts=[{"name": "mine", "mountPath": "/dev/shm/"}])
    assert "volumes" not in pod_of(template)["spec"]
    assert len(trainer(pod_of(template))["volumeMounts"]) == 1


def test_a_sidecars_shared_memory_is_not_the_trainers() -> None:
    template = with_container()
    mine = [{"name": "mine", "mountPath": "/dev/shm"}]
    template["spec"]["containers"].append({"name": "sidecar", "image": "m", "volumeMounts": mine})
    assert trainer(pod_of(template))["volumeMounts"][0]["name"] == "trainingjob-shm"


def test_what_a_container_takes_from_elsewhere_is_not_overruled() -> None:
    template = with_container(
        envFrom=[{"configMapRef": {"name": "mine"}}], resources={"limits": {"cpu": "4"}}
    )
    assert {"OMP_NUM_THREADS", "PYTHONUNBUFFERED"}.isdisjoint(env(pod_of(template)))


@pytest.mark.parametrize(
    "slip",
    [
        {"volumeMounts": {"name": "d", "mountPath": "/d"}},
        {"volumeMounts": ["d"]},
        {"volumeMounts": 17},
        {"ports": {"containerPort": 1}},
        {"resources": "large"},
        {"resources": {"limits": ["cpu"]}},
        {"resources": {"limits": {"cpu": "NaN"}}},
    ],
)
def test_a_slip_in_the_template_is_left_for_the_api_server_to_name(slip: dict[str, Any]) -> None:
    template = with_container(**slip)
    template["spec"]["hostNetwork"] = True
    built = trainer(manifests.pod(a_job(template=template), 0, SITE))
    assert {name: built[name] for name in slip} == slip


def test_helpers_know_their_rank_and_only_the_trainer_gets_the_rest() -> None:
    template = {
        "spec": {
            "initContainers": [{"name": "fetch", "image": "m"}],
            "containers": [{"name": "sidecar", "image": "m"}, {"name": "trainer", "image": "m"}],
        }
    }
    spec = pod_of(template)["spec"]
    for container in (*spec["initContainers"], *spec["containers"]):
        assert {"name": "RANK", "value": "1"} in container["env"]
    sidecar, main = spec["containers"]
    assert "terminationMessagePolicy" not in sidecar
    assert "volumeMounts" not in sidecar
    assert main["volumeMounts"][0]["mountPath"] == "/dev/shm"


def test_the_users_labels_and_annotations_stay_and_ours_win() -> None:
    template = TEMPLATE | {
        "metadata": {
            "labels": {"team": "vision", "trainingjob.dev/rank": "99"},
            "annotations": {"note": "mine"},
        }
    }
    metadata = pod_of(template)["metadata"]
    assert metadata["labels"]["team"] == "vision"
    assert metadata["labels"]["trainingjob.dev/rank"] == "1"
    assert metadata["annotations"] == {
        "note": "mine",
        "trainingjob.dev/job-name": "mnist",
        "trainingjob.dev/container": "trainer",
    }


def test_the_master_has_a_template_of_its_own() -> None:
    job = a_job(masterTemplate=with_container(image="big"))
    images = [manifests.pod(job, rank, SITE)["spec"]["containers"][0]["image"] for rank in (0, 1)]
    assert images == ["big", "my/trainer:1"]


@given(
    st.lists(st.sampled_from(["A", "B", "OMP_NUM_THREADS"]), unique=True),
    st.booleans(),
)
def test_the_template_is_never_touched(variables: list[str], sidecar: bool) -> None:
    own = [{"name": name, "value": "x"} for name in variables]
    template = with_container(env=own)
    if sidecar:
        template["spec"]["containers"].append({"name": "sidecar", "image": "m"})
    before = copy.deepcopy(template)
    pod_of(template)
    assert template == before
