"""Answers that no API server gives: proxies, broken kubeconfigs, and lines that are cut."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from client.served import a_client, a_kubeconfig, answered
from trainingjobs.client import watches
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.errors import ClientError, RefusedError, UnreachableError

pytestmark = pytest.mark.timeout(20)
PAGE = {"Content-Type": "text/html; charset=utf-8"}


def a_list(phase: str) -> httpx2.Response:
    metadata = {"name": "m", "namespace": "lab", "uid": "1", "resourceVersion": "7"}
    job = {"metadata": metadata, "status": {"phase": phase}}
    return httpx2.Response(200, json={"metadata": {"resourceVersion": "7"}, "items": [job]})


def typeless(code: int) -> httpx2.Response:
    return httpx2.Response(code, content=b"bad gateway")


BROKEN = {
    "502 without a type": lambda: typeless(502),
    "500 that says JSON and has none": lambda: httpx2.Response(
        500, content=b"oops", headers={"Content-Type": "application/json"}
    ),
    "a web page": lambda: httpx2.Response(200, content=b"<html>", headers=PAGE),
    "half a line": lambda: httpx2.Response(200, content=b'{"type": "MODI'),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_a_job_is_waited_for_whatever_answers_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    monkeypatch.setattr(watches, "_PAUSES", (0.0,))
    answers = iter([a_list("Running"), broken(), broken(), broken(), a_list("Succeeded")])
    asked = answered(monkeypatch, lambda _: next(answers))
    async with a_client(tmp_path, namespace="lab") as client:
        assert (await client.wait_for_job_status("m")).succeeded
    assert len(asked) == 5


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (lambda: typeless(502), RefusedError, "HTTP 502"),
        (BROKEN["a web page"], UnreachableError, "with a web page"),
        (lambda: httpx2.Response(200, content=b"hello"), UnreachableError, "no API server"),
        (BROKEN["500 that says JSON and has none"], UnreachableError, "no API server"),
    ],
)
async def test_what_else_answers_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, kind: type[Exception], words: str
) -> None:
    answered(monkeypatch, lambda _: answer())
    async with a_client(tmp_path) as client:
        for ask in (client.get_job, client.delete_job):
            if ask == client.delete_job and answer().is_success and words == "no API server":
                continue  # what a deletion answers is not read
            with pytest.raises(kind, match=words):
                await ask("m")


async def test_by_paths_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, lambda _: httpx2.Response(200, content=b"hello"))
    async with a_client(tmp_path) as client:
        with pytest.raises(httpx2.HTTPError, match="no JSON"):
            await client.raw.get("version")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"user": {"client-certificate-data": "a", "client-key-data": "b"}}, "no base64"),
        ({"cluster": {"server": "cluster:6443"}}, "write https://HOST:PORT"),
        ({"cluster": {"server": "https://[::1"}}, "write https://HOST:PORT"),
        ({"cluster": {"server": "https://c:port"}}, "write https://HOST:PORT"),
        ({"cluster": {"server": ""}}, "write https://HOST:PORT"),
    ],
)
def test_a_kubeconfig_that_is_wrong(tmp_path: Path, parts: Any, words: str) -> None:
    with pytest.raises(ClientError, match=words) as raised:
        AsyncTrainingJobClient(kubeconfig=str(a_kubeconfig(tmp_path, **parts)))
    assert "\n" not in str(raised.value)


def test_a_context_needs_no_user(tmp_path: Path) -> None:
    file = a_kubeconfig(tmp_path)
    parts = json.loads(file.read_text())
    del parts["contexts"][0]["context"]["user"]
    file.write_text(json.dumps(parts))
    assert AsyncTrainingJobClient(kubeconfig=str(file)).namespace == "default"


async def test_of_a_secret_its_name_alone_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["Accept"])
        return httpx2.Response(200, json={"metadata": {"name": "a"}})

    answered(monkeypatch, answer)
    async with a_client(tmp_path, namespace="lab") as client:
        found = await client.raw.metadata("api/v1/namespaces/lab/secrets/a")
    assert found == {"metadata": {"name": "a"}}
    assert asked == ["application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"]
