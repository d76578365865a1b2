"""Which cluster is meant: the order of kubectl, and what lightkube does not read by itself."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import yaml
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import NameValue, User, UserExec
from lightkube.core.exceptions import ConfigError

DEFAULT = Path("~/.kube/config")
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
    try:
        loaded = [KubeConfig.from_file(file) for file in files]
    except (yaml.YAMLError, msgspec.MsgspecError, TypeError, AttributeError) as error:
        raise ConfigError(f"{files[0]} is no kubeconfig: {' '.join(str(error).split())}") from error
    return _chosen(merged(loaded), context)


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
