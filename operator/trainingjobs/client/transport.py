"""Connections to the API server: as many as are needed, and none that is dead unnoticed.

A watch and a log are read without a time-out, since nothing may happen for hours. A node or a
network that goes away without a word is noticed by TCP alone.
"""

import socket
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig

from trainingjobs.client import plugin

SECONDS = 10.0
_PAGE = "it answers with a web page, as a proxy or another server does"
_IDLE, _BETWEEN, _TRIES = 20, 10, 3
_KEPT_ALIVE = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", _IDLE),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", _BETWEEN),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", _TRIES),
)


def made(config: SingleConfig) -> httpx2.AsyncBaseTransport:
    """The way to this cluster's API server, whatever stands in between."""
    way, asked = Checked(plain(config)), plugin.of(config)
    return way if asked is None else plugin.Plugged(way, asked)


class Checked(httpx2.AsyncBaseTransport):
    """Answers as the libraries above expect them, though a proxy may give others."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, with a type even where it came without."""
        answer = await self._inner.handle_async_request(request)
        kind = answer.headers.setdefault("Content-Type", "text/plain")
        if answer.is_success and kind.startswith("text/html"):
            await answer.aclose()
            raise httpx2.RemoteProtocolError(_PAGE, request=request)
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def plain(config: SingleConfig) -> httpx2.AsyncBaseTransport:
    """The way to this cluster's API server, through a proxy where the environment names one."""
    return httpx2.AsyncHTTPTransport(
        verify=client_adapter.verify_cluster(config.cluster, config.user, config.abs_file),  # type: ignore[arg-type]
        limits=httpx2.Limits(),
        proxy=_proxy(str(config.cluster.server)),
        socket_options=[
            (level, getattr(socket, name), value)
            for level, name, value in _KEPT_ALIVE
            if hasattr(socket, name)
        ],
    )


def _proxy(server: str) -> str | None:
    address = urlsplit(server)
    found = getproxies().get(address.scheme)
    return None if found is None or _spared(address.hostname or "") else found


def _spared(host: str) -> bool:
    """True where no proxy is meant: kubectl's NO_PROXY has networks too, and means this host."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or bool(proxy_bypass(host))
    networks = [part.strip() for part in getproxies().get("no", "").split(",") if "/" in part]
    inside = any(address in network for network in map(_network, networks) if network is not None)
    return address.is_loopback or inside or bool(proxy_bypass(host))


def _network(text: str) -> IPv4Network | IPv6Network | None:
    with suppress(ValueError):
        return ip_network(text, strict=False)
    return None
