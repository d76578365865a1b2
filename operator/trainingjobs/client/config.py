"""Which cluster is meant: the order of kubectl, and what lightkube does not read by itself."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import yaml
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Context, NameValue, User, UserExec
from lightkube.core.exceptions import ConfigError

from trainingjobs.client.job import Manifest

DEFAULT = Path("~/.kube/config")
_PATHS = {
    "clusters": ("cluster", ("certificate-authority",)),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}
_NOBODY_ELSE = "this client acts for nobody else; use a context that logs in as who is meant"
_UNKNOWN = {
    "as": _NOBODY_ELSE,
    "as-groups": _NOBODY_ELSE,
    "as-uid": _NOBODY_ELSE,
    "as-user-extra": _NOBODY_ELSE,
    "proxy-url": "set HTTPS_PROXY in its place",
    "tls-server-name": "give the server by the name that its certificate has",
}
_READ = "client.authentication.k8s.io/v1beta1"
"""The version of exec plugins that lightkube takes; v1 has the same answer."""


def load(kubeconfig: str | None = None, context: str | None = None) -> SingleConfig:
    """The cluster to speak to, and as whom.

    Raises:
        ConfigError: when there is none, or it cannot be read.
    """
    files = _files(kubeconfig, os.environ)
    if not files:
        return _chosen(_of_this_pod(), None)
    parts = [_read(file) for file in files]
    try:
        found = _chosen(merged([KubeConfig.from_dict(part) for part in parts]), context)
        _refuse(parts, found.context)
    except (msgspec.MsgspecError, TypeError, AttributeError) as error:
        raise ConfigError(f"{files[0]} is no kubeconfig: {' '.join(str(error).split())}") from error
    return found


def _read(file: Path) -> Manifest:
    """What is in the file; the paths in it begin where it lies."""
    path = file.expanduser()
    if not path.is_file():
        raise ConfigError(f"kubeconfig {file} not found")
    try:
        found: Manifest = yaml.safe_load(path.read_text())
        for kind, (one, keys) in _PATHS.items():
            for item in found.get(kind) or []:
                _place(item.get(one) or {}, keys, path.parent)
    except (yaml.YAMLError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no kubeconfig: {' '.join(str(error).split())}") from error
    return found


def _place(entry: Manifest, keys: Sequence[str], folder: Path) -> None:
    for key in keys:
        if entry.get(key):
            entry[key] = str(folder.absolute() / entry[key])
    command = (entry.get("exec") or {}).get("command") or ""
    if os.sep in command:
        entry["exec"]["command"] = str(folder.absolute() / command)


def _refuse(parts: Sequence[Manifest], context: Context) -> None:
    """Nothing that is asked for is left out in silence: who is to act for another acts as himself.

    Raises:
        ConfigError: when the context's user or cluster has what this client does not know.
    """
    for kind, name in (("users", context.user), ("clusters", context.cluster)):
        one = _PATHS[kind][0]
        items = [item for part in parts for item in part.get(kind) or [] if item["name"] == name]
        entry = (items[0].get(one) if items else None) or {}
        for key, advice in _UNKNOWN.items():
            if entry.get(key):
                raise ConfigError(f"the kubeconfig's {one} {name} has {key!r}: {advice}")


def _files(named: str | None, environ: Mapping[str, str]) -> list[Path]:
    if named:
        return [Path(named)]
    if listed := [item for item in environ.get("KUBECONFIG", "").split(os.pathsep) if item]:
        there = [Path(item) for item in listed if Path(item).expanduser().exists()]
        return there or [Path(listed[0])]
    return [DEFAULT] if DEFAULT.expanduser().exists() else []


def _of_this_pod() -> KubeConfig:
    try:
        return KubeConfig.from_service_account()
    except (ConfigError, KeyError) as error:
        raise ConfigError("no cluster is configured: there is no ~/.kube/config") from error


def merged(found: Sequence[KubeConfig]) -> KubeConfig:
    """Several files as one, as kubectl reads them: who comes first wins."""
    first = found[0]
    for other in found[1:]:
        first = KubeConfig(
            clusters=other.clusters | first.clusters,
            contexts=other.contexts | first.contexts,
            users=other.users | first.users,
            current_context=first.current_context or other.current_context,
            fname=first.fname,
        )
    return first


def _chosen(config: KubeConfig, context: str | None) -> SingleConfig:
    chosen = config.get(context)
    if chosen is None:
        raise ConfigError("the kubeconfig has no current context")
    _check(str(chosen.cluster.server))
    user = chosen.user or User()
    if user.exec is not None:
        user = msgspec.structs.replace(user, exec=plugin(user.exec))
    return chosen._replace(user=user)


def _check(server: str) -> None:
    try:
        address = urlsplit(server)
        right = address.scheme in {"http", "https"} and address.hostname and address.port != 0
    except ValueError:
        right = False
    if not right:
        raise ConfigError(f"{server!r} is no server's address: write https://HOST:PORT")


def plugin(found: UserExec) -> UserExec:
    """The exec plugin as it is to be called: told of its version, as client-go tells it."""
    told = {
        "apiVersion": found.apiVersion,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    env = [NameValue("KUBERNETES_EXEC_INFO", json.dumps(told)), *(found.env or [])]
    return msgspec.structs.replace(found, apiVersion=_READ, env=env)
