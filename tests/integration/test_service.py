"""What somebody edits of a job's service, against the API server that lets them."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.jobs import a_job
from integration.operators import eventually, operator
from integration.server import ApiServer
from integration.test_operator import Lab
from trainingjobs.cluster import services

pytestmark = pytest.mark.integration

_numbers = itertools.count()


@pytest.fixture
def lab(apiserver: ApiServer, tmp_path: Path) -> Iterator[Lab]:
    with operator(apiserver, f"service-{next(_numbers)}", tmp_path) as served:
        here = Lab(apiserver, served)
        here.apply(a_job())
        here.until_created()
        here.run_all()
        here.until_phase("Running")
        yield here
        assert not served.refused()
        assert "Traceback" not in served.log()


def service(lab: Lab) -> Any:
    found = lab.core.read_namespaced_service("job", lab.namespace)
    return lab.core.api_client.sanitize_for_serialization(found)


def ours(lab: Lab) -> Any:
    """What the operator says of it."""
    return services.seen(service(lab)).spec


EDITS: dict[str, dict[str, Any]] = {
    "the selector": {"selector": {"app": "theirs"}},
    "no selector": {"selector": None},
    "names only when ready": {"publishNotReadyAddresses": False},
    "the port": {"ports": [{"name": "other", "port": 80}]},
    "where the port leads": {"ports": [{"name": "rendezvous", "port": 29500, "targetPort": 80}]},
    "another kind": {"type": "ExternalName", "externalName": "a.test", "clusterIP": None},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_undone_with_one_write(lab: Lab, edit: dict[str, Any]) -> None:
    uid, before = service(lab)["metadata"]["uid"], ours(lab)
    lab.operator.forget_requests()
    lab.core.patch_namespaced_service("job", lab.namespace, {"spec": edit})
    eventually(lambda: ours(lab) == before)
    assert service(lab)["metadata"]["uid"] == uid
    eventually(lambda: lab.operator.writes("/services") != [])
    assert [verb for verb, _ in lab.operator.writes()] == ["patch"]
    assert (lab.status["phase"], lab.status["message"]) == ("Running", "")


def test_what_is_not_ours_is_left_as_it_is(lab: Lab) -> None:
    lab.operator.forget_requests()
    edit = {"metadata": {"labels": {"team": "a"}}, "spec": {"sessionAffinity": "ClientIP"}}
    lab.core.patch_namespaced_service("job", lab.namespace, edit)
    lab.patch_spec(maxRestarts=1)
    eventually(lambda: lab.status["observedGeneration"] == 2)
    assert lab.operator.writes("/services") == []
    assert service(lab)["spec"]["sessionAffinity"] == "ClientIP"


def test_an_address_of_its_own_cannot_be_taken_from_it_and_no_job_fails_of_that(lab: Lab) -> None:
    """Nobody can take it back: it is said until somebody deletes the service."""
    uid = service(lab)["metadata"]["uid"]
    lab.operator.stop()
    for spec in (
        {"type": "ExternalName", "externalName": "a.test", "clusterIP": None},
        {"type": "ClusterIP", "externalName": None},
    ):
        lab.core.patch_namespaced_service("job", lab.namespace, {"spec": spec})
    lab.operator.start()
    eventually(lambda: "job is not as the job needs it" in lab.status["message"])
    assert "may not change once set" in lab.status["message"]
    assert (lab.status["phase"], len(lab.pods)) == ("Running", 3)
    lab.core.delete_namespaced_service("job", lab.namespace)
    eventually(lambda: lab.status["message"] == "", 60)
    assert service(lab)["spec"]["clusterIP"] == "None"
    assert service(lab)["metadata"]["uid"] != uid
    assert lab.status["phase"] == "Running"
