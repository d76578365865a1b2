"""What a kubeconfig asks for is done, or refused: never left out in silence."""

import json
from pathlib import Path
from typing import Any

import pytest

from client.served import a_kubeconfig
from trainingjobs.client import config, transport
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.errors import ClientError


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"user": {"token": "t", "as": "guest"}}, "user u has 'as'"),
        ({"user": {"token": "t", "as-groups": ["viewers"]}}, "user u has 'as-groups'"),
        ({"user": {"token": "t", "as-user-extra": {"a": ["b"]}}}, "acts for nobody else"),
        ({"cluster": {"proxy-url": "http://p:1"}}, "cluster c has 'proxy-url': set HTTPS_PROXY"),
        ({"cluster": {"tls-server-name": "c"}}, "cluster c has 'tls-server-name'"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path: Path, parts: Any, words: str) -> None:
    with pytest.raises(ClientError, match=words):
        AsyncTrainingJobClient(kubeconfig=str(a_kubeconfig(tmp_path, **parts)))


def test_what_others_have_is_their_business(tmp_path: Path) -> None:
    file = a_kubeconfig(tmp_path)
    parts = json.loads(file.read_text())
    parts["users"].append({"name": "other", "user": {"as": "guest"}})
    file.write_text(json.dumps(parts))
    assert config.load(str(file)).context.user == "u"


def test_paths_begin_where_their_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = a_kubeconfig(tmp_path / "one")
    parts = json.loads(first.read_text())
    first.write_text(json.dumps({**parts, "clusters": [], "users": [], "contexts": []}))
    user = {"client-certificate": "me.crt", "client-key": "/keys/me", "tokenFile": "in/token"}
    second = a_kubeconfig(tmp_path / "two", user=user, cluster={"certificate-authority": "ca.crt"})
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")
    found = config.load()
    assert found.user is not None
    assert found.cluster.certificate_auth == str(tmp_path / "two/ca.crt")
    assert found.user.client_cert == str(tmp_path / "two/me.crt")
    assert found.user.client_key == "/keys/me"
    assert found.user.token_file == str(tmp_path / "two/in/token")


@pytest.mark.parametrize(
    ("server", "spared", "through"),
    [
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "cluster.local, 10.1.2.3", False),
        ("https://11.1.2.3:6443", "10.0.0.0/8", True),
        ("https://[fd00::1]:6443", "fd00::/8,10.0.0.0/8", False),
        ("https://api.lab:6443", ".lab,10.0.0.0/33", False),
        ("https://api.lab:6443", "10.0.0.0/8", True),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
    ],
)
def test_where_no_proxy_is_meant(
    monkeypatch: pytest.MonkeyPatch, server: str, spared: str, through: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    for name in ("no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", spared)
    assert transport._proxy(server) == ("http://proxy:3128" if through else None)  # noqa: SLF001
