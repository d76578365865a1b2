"""What goes wrong, as people are told it: one line, and what to do next."""

import json
import ssl
from pathlib import Path
from typing import Any

import httpx2
import pytest
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, Context, User
from lightkube.core.exceptions import ApiError, ConfigError

from trainingjobs.client import config
from trainingjobs.client.errors import (
    ClientError,
    GoneError,
    NotFoundError,
    NotInstalledError,
    RefusedError,
    UnreachableError,
)
from trainingjobs.client.failures import told, translated
from trainingjobs.client.watches import passing, steady

JOBS = "https://cluster:6443/apis/trainingjob.dev/v1/namespaces/lab/trainingjobs"
REQUEST = httpx2.Request("GET", JOBS)


def refused(code: int, message: str = "", url: str = JOBS, **details: str) -> ApiError:
    body = {"kind": "Status", "code": code, "message": message, "details": details}
    request = httpx2.Request("GET", url)
    response = httpx2.Response(
        code, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    return ApiError(request=request, response=response)


def plain(code: int) -> httpx2.HTTPStatusError:
    return httpx2.HTTPStatusError("no", request=REQUEST, response=httpx2.Response(code))


def untrusted() -> Exception:
    error = httpx2.ConnectError("tls", request=REQUEST)
    cause = ssl.SSLCertVerificationError(1, "no")
    cause.verify_message = "self-signed certificate"
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (refused(404, '"x" not found', name="x"), NotFoundError, '"x" not found; `list -A`'),
        (plain(404), NotInstalledError, "knows no TrainingJobs: install the operator first"),
        (refused(403, "jobs is forbidden"), RefusedError, "jobs is forbidden; ask who runs"),
        (refused(401), RefusedError, "log in to the cluster again"),
        (refused(409, "exists"), RefusedError, "exists"),
        (plain(502), RefusedError, "HTTP 502"),
        (httpx2.ReadTimeout("", request=REQUEST), UnreachableError, "in time (cluster:6443)"),
        (httpx2.ConnectError("[Errno 111] refused", request=REQUEST), UnreachableError, "refused;"),
        (httpx2.ReadError(""), UnreachableError, "unknown host"),
        (untrusted(), UnreachableError, "not trusted: self-signed certificate"),
        (ConfigError("no context"), ClientError, "no context; check --kubeconfig"),
        (KeyError("token"), ClientError, "has no 'token'"),
        (FileNotFoundError(2, "No such file", "aws"), ClientError, "'aws'; check --kubeconfig"),
    ],
)
def test_words(error: Exception, kind: type[ClientError], words: str) -> None:
    made = translated(error)
    assert type(made) is kind
    assert words in str(made)


def test_our_own_errors_pass_as_they_are() -> None:
    with pytest.raises(GoneError, match=r"^gone$"), told():
        raise GoneError("gone")
    with pytest.raises(UnreachableError), told():
        raise httpx2.ConnectError("no", request=REQUEST)


@pytest.mark.parametrize(
    ("error", "over_soon"),
    [
        (httpx2.ReadError(""), True),
        (plain(503), True),
        (refused(429), True),
        (refused(410, "too old resource version"), True),
        (refused(403), False),
        (plain(404), False),
    ],
)
def test_what_is_worth_another_try(error: httpx2.HTTPError, over_soon: bool) -> None:
    assert passing(error) is over_soon


async def test_a_connection_that_breaks_is_no_answer() -> None:
    answers: list[Exception | str] = [httpx2.ReadError("cut"), "there"]

    async def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await steady(ask) == "there"
    answers += [httpx2.ConnectError("no")] * 3
    with pytest.raises(httpx2.ConnectError):
        await steady(ask)
    answers += [plain(404), "not asked"]
    with pytest.raises(httpx2.HTTPStatusError):
        await steady(ask)


def a_config(name: str, current: str | None) -> KubeConfig:
    return KubeConfig(
        clusters={
            name: Cluster(server=f"https://{name}"),
            "both": Cluster(server=f"https://{name}"),
        },
        contexts={name: Context(cluster=name, user=name)},
        users={name: User(token=name)},
        current_context=current,
    )


def test_of_several_files_the_first_wins() -> None:
    merged = config.merged([a_config("a", None), a_config("b", "b"), a_config("c", "c")])
    assert merged.current_context == "b"
    assert merged.contexts.keys() == {"a", "b", "c"}
    assert merged.clusters["both"].server == "https://a"


@pytest.mark.parametrize(
    ("listed", "chosen"),
    [("one:two", "https://one"), ("absent:two", "https://two"), (":two", "https://two")],
)
def test_kubeconfig_names_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str, chosen: str
) -> None:
    for name in ("one", "two"):
        context: dict[str, Any] = {"name": name, "context": {"cluster": name, "user": name}}
        cluster = {"name": name, "cluster": {"server": f"https://{name}"}}
        user = {"name": name, "user": {"token": name}}
        found = {"clusters": [cluster], "users": [user], "contexts": [context]}
        (tmp_path / name).write_text(json.dumps({**found, "current-context": name}))
    paths = [str(tmp_path / name) if name else "" for name in listed.split(":")]
    monkeypatch.setenv("KUBECONFIG", ":".join(paths))
    assert config.load().cluster.server == chosen


def test_without_any_the_pods_own_account_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="no cluster is configured"):
        config.load()
