"""Reports and the whole status with a real API server's tokens, reviews and permissions."""

import json
from collections.abc import Iterator

import pytest

from integration.desk import AUDIENCE, Desk
from integration.jobs import a_job
from integration.operators import eventually, operator
from integration.server import ApiServer

pytestmark = pytest.mark.integration

NAMESPACE = "roll-call"
STATUS = "--audience=trainingjob.dev/status"
PODS = ["counted-master", "counted-worker-0", "counted-worker-1"]


@pytest.fixture(scope="module")
def desk(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """An operator with the roll call, a job, and users with and without rights."""
    folder = tmp_path_factory.mktemp("operator")
    with operator(apiserver, NAMESPACE, folder, roll_call=True) as process:
        desk = Desk(apiserver, process)
        for account in ("default", "may", "may-not"):
            desk.do("create", "serviceaccount", account)
        what = ("--verb=get", "--resource=trainingjobs.trainingjob.dev")
        desk.do("create", "role", "reads", *what)
        desk.do(
            "create", "rolebinding", "reads", "--role=reads", f"--serviceaccount={NAMESPACE}:may"
        )
        job = a_job("counted", PARALLEL_INSTANCES=3)
        job["spec"]["template"]["spec"]["serviceAccountName"] = "default"
        job["metadata"]["namespace"] = NAMESPACE
        desk.apply(job)
        eventually(lambda: desk.do("get", "pods", "-oname").count("pod/") == len(PODS))
        yield desk


def test_a_pods_own_token_lets_it_report(desk: Desk) -> None:
    for rank, pod in enumerate(PODS):
        token = desk.pods_token(pod)
        assert desk.report(token, rank=rank) == (200, {"interval": 5.0})
        assert desk.report(token, rank=rank, stage="joined") == (200, {"interval": 5.0})
    assert desk.ranks(desk.token("may", STATUS)) == dict.fromkeys(range(3), "joined")


def test_a_token_is_reviewed_once(desk: Desk) -> None:
    token = desk.pods_token(PODS[0])
    desk.operator.forget_requests()
    for _ in range(5):
        assert desk.report(token, rank=0)[0] == 200
    assert [verb for verb, url in desk.operator.requests() if "tokenreviews" in url] == ["create"]


def test_a_pod_speaks_for_its_own_ranks_alone(desk: Desk) -> None:
    code, said = desk.report(desk.pods_token(PODS[1]), rank=2)
    assert code == 400
    assert "rank 2 is not one of this pod's, which are 1" in said["error"]


@pytest.mark.parametrize("audience", ["trainingjob.dev/other", "https://kubernetes.default.svc"])
def test_a_token_for_somebody_else_is_refused(desk: Desk, audience: str) -> None:
    code, said = desk.report(desk.pods_token(PODS[0], audience), rank=0)
    assert (code, AUDIENCE in said["error"]) == (401, True)


def test_an_accounts_token_without_a_pod_is_refused(desk: Desk) -> None:
    code, said = desk.report(desk.token("default", f"--audience={AUDIENCE}"), rank=0)
    assert (code, "bound to a pod" in said["error"]) == (401, True)


def test_a_forged_token_is_refused(desk: Desk) -> None:
    head, payload, signature = desk.pods_token(PODS[0]).split(".")
    forged = ".".join([head, payload, signature[::-1]])
    assert desk.report(forged, rank=0)[0] == 401


def test_a_pod_of_no_job_is_asked_to_wait_and_reviewed_never(desk: Desk) -> None:
    container = {"name": "c", "image": "i"}
    spec = {"serviceAccountName": "default", "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger"}, "spec": spec}
    desk.do("create", "-f-", text=json.dumps(pod))
    token = desk.pods_token("stranger")
    desk.operator.forget_requests()
    assert desk.report(token)[0] == 503
    assert not [url for _, url in desk.operator.requests() if "tokenreviews" in url]


def test_whoever_may_get_the_job_gets_all_of_it(desk: Desk) -> None:
    code, whole = desk.get("counted", desk.token("may", STATUS))
    assert code == 200
    assert whole["status"]["replicas"] == len(PODS)
    assert [it["pod"] for it in whole["ranks"]] == PODS


def test_a_token_for_the_api_server_is_refused(desk: Desk) -> None:
    """It has come over plain HTTP, and opens more than this."""
    desk.operator.forget_requests()
    code, said = desk.get("counted", desk.token("may"))
    assert (code, "--audience trainingjob.dev/status" in said["error"]) == (401, True)
    assert not [url for _, url in desk.operator.requests() if "tokenreviews" in url]


def test_others_do_not_learn_whether_there_is_such_a_job(desk: Desk) -> None:
    token = desk.token("may-not", STATUS)
    assert desk.get("counted", token) == desk.get("no-such-job", token)
    assert desk.get("counted", token)[0] == 403
    assert desk.get("no-such-job", desk.token("may", STATUS))[0] == 404


def test_a_reports_token_opens_nothing_else(desk: Desk) -> None:
    assert desk.get("counted", desk.pods_token(PODS[0]))[0] == 401


def test_a_deleted_pods_token_is_of_no_use(desk: Desk) -> None:
    token = desk.pods_token(PODS[2])
    assert desk.report(token, rank=2)[0] == 200
    desk.do("delete", "pod", PODS[2], "--grace-period=0", "--force")
    eventually(lambda: desk.report(token, rank=2)[0] in {401, 403})
    # and its namesake, made anew by the operator, is another
    eventually(lambda: PODS[2] in desk.do("get", "pods", "-oname"))
    assert desk.report(token, rank=2)[0] in {401, 403}


def test_the_service_needs_no_permission_that_it_lacks(desk: Desk) -> None:
    assert desk.operator.refused() == []
