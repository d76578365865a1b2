"""A job and its script come together, or not at all."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from client.served import a_client, answered, status
from trainingjobs.client.errors import ClientError
from trainingjobs.client.script import VOLUME, Script

JOBS = "/apis/trainingjob.dev/v1/namespaces/default/trainingjobs"
SCRIPT = Script(files={"train.py": "pass"}, image="my/image:1")


class Server:
    """Stands for the API server: keeps jobs, and refuses what it is told to."""

    def __init__(self, *names: str, **refusals: int) -> None:
        volume = {"name": VOLUME, "configMap": {"name": "files"}}
        template = {"spec": {"containers": [], "volumes": [volume]}}
        spec = {"template": template}
        self.jobs = {name: {"metadata": self._metadata(name), "spec": spec} for name in names}
        self.refusals = refusals

    @staticmethod
    def _metadata(name: str) -> dict[str, Any]:
        return {"name": name, "namespace": "default", "uid": f"uid-{name}"}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """The answer."""
        name = request.url.path.rpartition("/")[2]
        what = name if name in {"configmaps", "files"} else request.method.lower()
        if code := self.refusals.get(what):
            return status(code, f"no {what}")
        if "configmaps" in request.url.path:
            return httpx2.Response(200, json={"metadata": {"name": "files"}})
        if request.method == "POST":
            return self._made(json.loads(request.content))
        if request.method == "DELETE":
            del self.jobs[name]
            return status(200)
        return httpx2.Response(200, json={**self.jobs[name], "status": {"phase": "Failed"}})

    def _made(self, job: dict[str, Any]) -> httpx2.Response:
        name = job["metadata"]["name"]
        if name in self.jobs:
            body = {"code": 409, "reason": "AlreadyExists", "message": f"{name} exists"}
            kind = {"Content-Type": "application/json"}
            return httpx2.Response(409, content=json.dumps(body), headers=kind)
        self.jobs[name] = {"metadata": self._metadata(name), "spec": job["spec"]}
        return httpx2.Response(201, json=self.jobs[name])


async def test_no_job_stays_without_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server("old", files=403, configmaps=403)
    answered(monkeypatch, server)
    async with a_client(tmp_path) as client:
        with pytest.raises(ClientError, match="no configmaps"):
            await client.train(SCRIPT, "new")
        with pytest.raises(ClientError, match="no files"):
            await client.retry_job("old")
    assert server.jobs.keys() == {"old"}


async def test_the_cause_is_told_where_the_job_has_to_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch, Server("old", files=403, configmaps=403, delete=403))
    async with a_client(tmp_path) as client:
        with pytest.raises(ClientError, match=r"no configmaps.*new was made and stays.*no delete"):
            await client.train(SCRIPT, "new")
        with pytest.raises(ClientError, match=r"no files.*old-r2 was made and stays.*no delete"):
            await client.retry_job("old")


async def test_a_job_is_retried_as_often_as_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch, Server("m"))
    async with a_client(tmp_path) as client:
        assert [await client.retry_job("m") for _ in range(3)] == ["m-r2", "m-r3", "m-r4"]
        with pytest.raises(ClientError, match="m-r3 exists"):
            await client.retry_job("m", "m-r3")
