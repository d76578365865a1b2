"""How the doctor asks: in pages, of all rights, and what it makes of no answer."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Self

import httpx2
import pytest
from click.testing import CliRunner, Result

from trainingjobs.cli import screen
from trainingjobs.cli.app import app

NODE = {
    "metadata": {"name": "node-a"},
    "status": {
        "allocatable": {"cpu": "4", "pods": "1200"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
POD = {"spec": {"nodeName": "node-a", "containers": [{}]}, "status": {"phase": "Running"}}
JOBS = "apis/trainingjob.dev/v1"
REQUEST = httpx2.Request("GET", "https://cluster:6443/apis")


class Cluster:
    """An API server with 1100 pods, as far as the doctor asks it."""

    def __init__(self, fails: Callable[[str], Exception | None] = lambda _: None) -> None:
        self.fails = fails
        self.largest = 0
        self.asked: list[str] = []
        self.more: dict[str, list[dict[str, Any]]] = {}
        self.reviewed: list[dict[str, Any]] = []
        self.refused: set[tuple[str, str, str]] = set()
        """Rights that nobody has: namespace, resource, subresource."""

    async def get(self, path: str, **params: str) -> dict[str, Any]:
        """A page of it."""
        if (wrong := self.fails(path)) is not None:
            raise wrong
        if path == "version":
            return {"gitVersion": "v1.37.2"}
        if path == "apis/trainingjob.dev/v1":
            return {"resources": [{"name": "trainingjobs"}]}
        if path.endswith("/serviceaccounts/default"):
            return {"imagePullSecrets": [{"name": "there"}, {"name": "gone"}]}
        self.asked.append(path)
        known = {"api/v1/nodes": [NODE], "api/v1/pods": [POD] * 1100, **self.more}
        every: list[dict[str, Any]] = known.get(path, [])
        begin = int(params.get("continue", "0"))
        end = begin + int(params.get("limit", len(every)))
        self.largest = max(self.largest, len(every[begin:end]))
        more = {"continue": str(end)} if end < len(every) else {}
        return {"items": every[begin:end], "metadata": more}

    async def metadata(self, path: str) -> dict[str, Any]:
        """One secret is there, and no content of it is sent."""
        if (wrong := self.fails(path)) is not None:
            raise wrong
        if path != "api/v1/namespaces/lab/secrets/there":
            answer = httpx2.Response(404, request=REQUEST)
            raise httpx2.HTTPStatusError("no", request=REQUEST, response=answer)
        return {"metadata": {"name": "there"}}

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """All is allowed, but for this."""
        if (wrong := self.fails(path)) is not None:
            raise wrong
        asked = body["spec"]["resourceAttributes"]
        self.reviewed.append(asked)
        what = asked["namespace"], asked["resource"], asked["subresource"]
        return {"status": {"allowed": what not in self.refused}}


class Client(SimpleNamespace):
    """What the doctor takes of the client."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def doctor(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, *args: str) -> Result:
    monkeypatch.setattr(screen, "connect", lambda: Client(raw=cluster, namespace="lab"))
    return CliRunner().invoke(app, ["doctor", *args])


def test_pods_are_asked_for_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    shown = doctor(monkeypatch, cluster, "--pods", "101")
    assert cluster.largest == 500
    assert "BAD room      101 pods: 100 have room" in shown.stdout
    assert "ok  room" in doctor(monkeypatch, cluster, "--pods", "100", "--cpus", "0").stdout


def test_all_that_commands_need_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    doctor(monkeypatch, cluster)
    asked = {(item["verb"], item["resource"]) for item in cluster.reviewed}
    for verb in ("create", "patch", "delete", "watch"):
        assert (verb, "trainingjobs") in asked
    for verb in ("create", "get", "patch"):
        assert (verb, "configmaps") in asked


def test_checks_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = doctor(monkeypatch, Cluster(), "--pods", "2000", "-o", "json")
    told = json.loads(shown.stdout)
    assert (shown.exit_code, told["well"]) == (1, False)
    assert {check["about"]: check["verdict"] for check in told["checks"]}["room"] == "bad"
    assert all(check.keys() == {"about", "verdict", "words", "advice"} for check in told["checks"])


def test_a_dns_that_is_not_seen_is_looked_for_in_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = {"type": "Registered", "status": "True"}
    condition["lastTransitionTime"] = datetime.now(UTC).isoformat()
    job = {
        "metadata": {"namespace": "lab", "name": "mnist", "annotations": {"much": "x" * 999}},
        "spec": {"PARALLEL_INSTANCES": 3, "template": {}},
        "status": {"conditions": [condition]},
    }
    cluster = Cluster()
    cluster.more = {f"{JOBS}/namespaces/lab/trainingjobs": [job]}
    assert "??  dns" in doctor(monkeypatch, cluster).stdout, "others may be listed, and are none"
    cluster.fails = lambda path: forbidden(path) if path == f"{JOBS}/trainingjobs" else None
    told = doctor(monkeypatch, cluster).stdout
    assert "ok  dns       the ranks of lab/mnist found each other by name" in told


def test_no_job_is_asked_for_where_the_dns_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    slices = "apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices"
    cluster.more = {slices: [{"endpoints": [{"conditions": {"ready": True}}]}]}
    assert "ok  dns       kube-dns has ready endpoints (1)" in doctor(monkeypatch, cluster).stdout
    assert [path for path in cluster.asked if path.endswith("/trainingjobs")] == []


def slow(path: str) -> Exception | None:
    return None if path == "version" else httpx2.ReadTimeout("slow", request=REQUEST)


def forbidden(path: str) -> Exception | None:
    answer = httpx2.Response(403, request=REQUEST)
    if path == "version":
        return None
    return httpx2.HTTPStatusError("no", request=REQUEST, response=answer)


def absent(path: str) -> Exception | None:
    answer = httpx2.Response(404, request=REQUEST)
    if path != "apis/trainingjob.dev/v1":
        return None
    return httpx2.HTTPStatusError("no", request=REQUEST, response=answer)


def test_no_answer_is_neither_good_nor_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = doctor(monkeypatch, Cluster(slow))
    assert shown.exit_code == 0, shown.output
    signs = [line[:3].strip() for line in shown.stdout.splitlines()]
    assert (signs[0], set(signs[1:])) == ("ok", {"??"})
    assert "does not answer in time" in shown.stdout
    assert "you may not" not in shown.stdout


def test_what_may_not_be_asked_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = doctor(monkeypatch, Cluster(forbidden))
    assert "you may not list Deployments of all namespaces" in shown.stdout
    assert "knows no TrainingJobs" not in shown.stdout


def test_a_resource_that_is_not_there_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = doctor(monkeypatch, Cluster(absent))
    assert "BAD resource  the cluster knows no TrainingJobs" in shown.stdout


@pytest.mark.parametrize("amount", ["4GB", "abc", "-1", "1 Gi", "4gi"])
def test_no_amount(monkeypatch: pytest.MonkeyPatch, amount: str) -> None:
    shown = doctor(monkeypatch, Cluster(), "--memory", amount)
    assert shown.exit_code == 2
    assert "is no amount: write 2, 500m or 4Gi" in shown.stderr


def test_who_may_not_look_at_the_operator_is_told_and_may_run_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    cluster.refused = {("trainingjob-system", "pods", "portforward")}
    shown = doctor(monkeypatch, cluster, "--pods", "1")
    told = [line for line in shown.stdout.splitlines() if line.startswith("--")]
    assert [("create pods/portforward" in it, "trainingjob-system" in it) for it in told] == [
        (True, True)
    ]
    assert "BAD live" not in shown.stdout
    monkeypatch.setenv("TRAININGJOB_OPERATOR_NAMESPACE", "ops")
    assert "ok  live" in doctor(monkeypatch, cluster).stdout


def test_pull_secrets_are_asked_for_with_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("--pods", "1", "--image", "my/own:1")
    shown = doctor(monkeypatch, Cluster(), *asked)
    assert "BAD image" not in shown.stdout
    assert "??  image     no node tells that it has my/own:1" in shown.stdout
    assert "ok  image     pull secret there of account default is there" in shown.stdout
    assert "--  image     pull secret gone of account default is not in lab" in shown.stdout
    assert "image" not in doctor(monkeypatch, Cluster(), "--pods", "1").stdout

    def hidden(path: str) -> Exception | None:
        return forbidden(path) if "secrets/" in path else None

    assert (
        "whether pull secret there is there cannot"
        in doctor(monkeypatch, Cluster(hidden), *asked).stdout
    )
    unseen = doctor(monkeypatch, Cluster(forbidden), *asked).stdout
    assert "??  dns       kube-dns could not be looked at: you may not list" in unseen
    assert "??  image     the service account default of lab could not be read" in unseen
    assert "??  image     which nodes have my/own:1 cannot be told: you may not" in unseen
