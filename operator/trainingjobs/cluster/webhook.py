"""One message to an address of a user's, and to nobody whom the user could not reach himself.

Whoever writes a job chooses where the operator connects to. So an address is resolved once, each
of its answers is looked at, and the connection is made to what was looked at: no other name, no
redirect and no proxy leads to the cluster's own network. What is wrong is told without the
address, which is a secret: so is what the other side answers.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from trainingjobs.cluster.errors import WebhookError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
_SECONDS = 10.0
_LONGEST = 2048
_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)
"""A host and its port that all readers read alike. Of other letters a resolver makes one name and
the connection another, and an address that is written in them is never resolved at all."""
_NAT64 = ip_network("64:ff9b::/96")
_OK, _REDIRECT, _BUSY, _WRONG = 200, 300, 429, 500


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(map(ip_network, texts))


_NEVER = _networks(
    *("0.0.0.0/8", "::/128"),  # this machine, for many
    "100.100.100.200/32",  # tells machines of one provider their secrets
    *("169.254.0.0/16", "fe80::/10", "168.63.129.16/32", "fd00:ec2::254/128"),  # and so do these
    "192.0.0.0/24",  # and 192.0.0.192
    *("224.0.0.0/4", "ff00::/8"),  # many at a time
    *("240.0.0.0/4", "fec0::/10"),  # nobody's, or no more
    "64:ff9b:1::/48",  # where its IPv4 address stands is known to its network alone
)
"""Whatever an administrator allows: no person's chat is there."""
_INNER = _networks(
    "100.64.0.0/10",  # inside of providers, where pods of many clusters are
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    *("127.0.0.0/8", "::1/128"),
    *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    *("192.88.99.0/24", "198.18.0.0/15", "2001::/23"),
)
"""Unless an administrator allows it; one Python counts other addresses as global than the next."""
_OPEN = ip_network("2000::/3")
"""All of IPv6 that is given to anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where messages may go, as an administrator has said."""

    networks: tuple[Network, ...] = ()
    """That are private, and allowed all the same, but for what is never allowed."""
    plain: bool = False
    """True where http is allowed as well."""
    never: tuple[Address, ...] = ()
    """Addresses that are nobody's business, such as the API server's."""

    def allows(self, text: str) -> bool:
        """True for an address of the open Internet, or of an allowed network."""
        written = ip_address(text.partition("%")[0])
        address = _real(written)
        if address in self.never or _in(written, _NEVER) or _in(address, _NEVER):
            return False
        return _in(address, self.networks) or _is_open(address)


def _is_open(address: Address) -> bool:
    if _in(address, _INNER) or (isinstance(address, IPv6Address) and address not in _OPEN):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _real(address: Address) -> Address:
    """The IPv4 address in one that only carries it."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


async def resolved(host: str, port: int) -> Sequence[str]:
    """All addresses of a name, as the system knows them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(item[4][0]) for item in found]


class Webhook:
    """Sends messages."""

    def __init__(self, reach: Reach, resolve: Resolve = resolved) -> None:
        self._reach, self._resolve = reach, resolve

    async def send(self, url: str, body: dict[str, Any]) -> None:
        """POST it once.

        Raises:
            WebhookError: when it was not taken, without a word of where it went.
        """
        place = self._checked(url)
        host, port = str(place.hostname), place.port or _PORTS[place.scheme]
        try:
            async with asyncio.timeout(_SECONDS):
                addresses = await self._resolve(host, port)
                if not addresses or not all(map(self._reach.allows, addresses)):
                    words = "its address is not on the open Internet, nor allowed by the operator"
                    raise WebhookError(words, forever=True)
                await _posted(url, body, _Pinned(addresses))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # what it says may have the address in it
            raise WebhookError(f"no connection ({type(error).__name__})") from None

    def _checked(self, url: str) -> SplitResult:
        schemes = {"https", "http"} if self._reach.plain else {"https"}
        try:
            place = urlsplit(url)
            right = place.scheme in schemes and place.hostname and place.port != 0
        except ValueError:
            place, right = urlsplit(""), False
        if not right or len(url) > _LONGEST or not url.isprintable() or " " in url:
            words = f"the Secret's value is no address that begins with {' or '.join(schemes)}://"
            raise WebhookError(words, forever=True)
        if place.username or place.password:
            raise WebhookError("an address with a user's name in it is not taken", forever=True)
        if not url.isascii() or not _HOST.fullmatch(place.netloc):
            words = "an address is to be ASCII alone, and its host a plain name (xn--… for others)"
            raise WebhookError(words, forever=True)
        return place


async def _posted(url: str, body: dict[str, Any], where: "_Pinned") -> None:
    connector = aiohttp.TCPConnector(resolver=where, use_dns_cache=False, force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector, trust_env=False) as http,
        http.post(url, json=body, allow_redirects=False) as answer,
    ):
        code = answer.status
    if _OK <= code < _REDIRECT:
        return
    forever = code != _BUSY and code < _WRONG
    raise WebhookError(f"the answer was HTTP {code}", forever=forever)


class _Pinned(AbstractResolver):
    """Knows the addresses that were looked at, and asks nobody again."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Those."""
        del family
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""
