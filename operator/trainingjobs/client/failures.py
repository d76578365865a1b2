"""What goes wrong between a client and its cluster, in one line that says what to do next."""

import binascii
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import msgspec
from lightkube.core.exceptions import ApiError, ConfigError

from trainingjobs.client.errors import (
    ClientError,
    ExistsError,
    NotFoundError,
    NotInstalledError,
    RefusedError,
    UnreachableError,
)
from trainingjobs.model import labels

_NOT_FOUND, _UNAUTHORIZED, _FORBIDDEN = 404, 401, 403
_INSTALL = "install the operator first: helm install trainingjob-operator (see its README)"


@contextmanager
def told() -> Iterator[None]:
    """Whatever goes wrong inside comes out as a ClientError."""
    try:
        yield
    except (httpx2.HTTPError, ConfigError, OSError, KeyError, ValueError) as error:
        if isinstance(error, ClientError):
            raise
        raise translated(error) from error


def code_of(error: httpx2.HTTPError) -> int:
    """The code of an answer that is an error; 0 where there was no answer."""
    return error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else 0


def translated(error: Exception) -> ClientError:
    """The error in words for people."""
    match error:
        case httpx2.HTTPStatusError():
            return _answer(error)
        case httpx2.TimeoutException():
            return UnreachableError(f"the API server does not answer in time ({_where(error)})")
        case httpx2.HTTPError():
            return UnreachableError(
                f"the API server cannot be reached ({_where(error)}): {_cause(error)}; "
                "check the cluster and --context"
            )
        case json.JSONDecodeError() | msgspec.MsgspecError() | binascii.Error():
            return _unreadable(error)
        case KeyError():
            return ClientError(f"the kubeconfig, or what its exec plugin answers, has no {error}")
        case _:
            return ClientError(f"{error}; check --kubeconfig, KUBECONFIG and --context")


def _unreadable(error: Exception) -> ClientError:
    if isinstance(error, binascii.Error):
        return ClientError(f"a certificate or key in the kubeconfig is no base64: {error}")
    words = " ".join(str(error).split())
    return UnreachableError(
        f"what answers is no API server, or was cut off ({words}); check --context, and proxies"
    )


def _answer(error: httpx2.HTTPStatusError) -> ClientError:
    code = error.response.status_code if error.response is not None else 0
    status = error.status if isinstance(error, ApiError) else None
    words = (status.message if status is not None else None) or f"HTTP {code}"
    code = (status.code if status is not None else None) or code
    if code == _NOT_FOUND:
        missing = status is None or not (status.details and status.details.name)
        if missing and labels.GROUP in str(error.request.url):
            return NotInstalledError(f"this cluster knows no TrainingJobs: {_INSTALL}")
        return NotFoundError(f"{words}; `list -A` shows what is there")
    if code == _UNAUTHORIZED:
        return RefusedError("the API server does not know who you are: log in to the cluster again")
    if code == _FORBIDDEN:
        return RefusedError(f"{words}; ask who runs the cluster for this right")
    exists = status is not None and status.reason == "AlreadyExists"
    return ExistsError(words) if exists else RefusedError(words)


def _where(error: httpx2.HTTPError) -> str:
    try:
        return f"{error.request.url.host}:{error.request.url.port or 443}"
    except RuntimeError:
        return "unknown host"


def _cause(error: BaseException) -> str:
    """The words of what is at the bottom: `Connection refused` instead of a library's name."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {found.verify_message}"
        found = found.__cause__ or found.__context__
    return " ".join(str(error).split()) or type(error).__name__
