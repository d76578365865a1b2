"""A connection to a pod's port through the API server, as `kubectl port-forward` makes it.

The sub-protocol is the kubelet's: every message begins with the number of its channel, 0 for what
is carried and 1 for what went wrong, and the first on each has the number of the port alone. One
connection of the pod is one WebSocket, which lightkube's own HTTP client brings.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
from httpx2 import websockets

from trainingjobs.client.errors import RefusedError, UnreachableError
from trainingjobs.client.failures import translated
from trainingjobs.client.raw import Raw

_PROTOCOL = "v4.channel.k8s.io"
_DATA, _WRONG = 0, 1
_RIGHT = "`create` (of older clusters: `get`) on `pods/portforward`"


@dataclass(frozen=True, slots=True)
class Target:
    """A port of a pod."""

    namespace: str
    pod: str
    port: int


@dataclass(slots=True)
class Tunnel:
    """One open connection."""

    target: Target
    _socket: websockets.AsyncWebSocketSession
    _begun: set[int] = field(default_factory=set)

    async def send(self, data: bytes) -> None:
        """Bytes to the pod."""
        await self._socket.send_bytes(bytes([_DATA]) + data)

    async def receive(self) -> bytes:
        """The next bytes from the pod; none when it has closed the connection.

        Raises:
            UnreachableError: when nobody listens there.
        """
        while True:
            try:
                message = await self._socket.receive_bytes()
            except websockets.WebSocketDisconnect:
                return b""
            channel, data = message[0], message[1:]
            if channel not in self._begun:
                self._begun.add(channel)  # the port's number
            elif channel == _WRONG and data:
                words = " ".join(data.decode(errors="replace").split())
                raise UnreachableError(f"pod {self.target.pod} does not answer: {words}")
            elif channel == _DATA and data:
                return data


@asynccontextmanager
async def opened(raw: Raw, target: Target) -> AsyncIterator[Tunnel]:
    """A connection to this port.

    Raises:
        ClientError: when it cannot be made, or breaks.
    """
    path = f"api/v1/namespaces/{target.namespace}/pods/{target.pod}/portforward"
    try:
        async with raw.websocket(path, _PROTOCOL, ports=str(target.port)) as socket:
            yield Tunnel(target, socket)
    except (ExceptionGroup, websockets.HTTPXWSException, httpx2.HTTPError, OSError) as error:
        raise _said(_bottom(error), target) from error


def _bottom(error: Exception) -> Exception:
    """What it was: the library puts whatever happens inside of a connection into groups."""
    return _bottom(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def _said(error: Exception, target: Target) -> Exception:
    """The error in words for people, where it is one of the way."""
    match error:
        case websockets.WebSocketUpgradeError():
            return _refused(error.response.status_code, target)
        case websockets.HTTPXWSException():
            return UnreachableError(f"the way to pod {target.pod} broke")
        case httpx2.HTTPError():
            return translated(error)
        case _:
            return error


def _refused(code: int, target: Target) -> Exception:
    if code in {httpx2.codes.FORBIDDEN, httpx2.codes.UNAUTHORIZED}:
        words = f"you may not port-forward to pods of {target.namespace}"
        return RefusedError(f"{words}: ask who runs the cluster for {_RIGHT} there")
    if code == httpx2.codes.NOT_FOUND:
        return UnreachableError(f"pod {target.pod} is gone: another one leads in a moment")
    words = f"the API server opens no port-forward to pod {target.pod} (HTTP {code})"
    return UnreachableError(f"{words}: what stands in between may not let WebSockets through")
