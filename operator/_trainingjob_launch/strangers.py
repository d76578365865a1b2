"""Who has knocked and not proved yet who it is: never so many that there is no room for another.

Anybody in the cluster may knock. The launcher proves itself within milliseconds, so where there
is no room, whoever has waited longest goes, of the address with the most.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections import Counter
from contextlib import suppress


class Strangers:
    """So many connections at most."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._places: dict[socket.socket, str] = {}

    def __len__(self) -> int:
        return len(self._places)

    def welcome(self, sock: socket.socket, address: str) -> bool:
        """Take in another; false when one had to go for it."""
        with self._lock:
            full = len(self._places) >= self._room
            if full:
                self._send_away()
            self._places[sock] = place(address)
        return not full

    def forget(self, sock: socket.socket) -> None:
        """It has proved who it is, or is gone."""
        with self._lock:
            self._places.pop(sock, None)

    def _send_away(self) -> None:
        """Its own thread finds that it hung up, and closes."""
        most, _ = Counter(self._places.values()).most_common(1)[0]
        oldest = next(sock for sock, where in self._places.items() if where == most)
        del self._places[oldest]
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)


def place(address: str) -> str:
    """Where a connection comes from: who has one address of IPv6 mostly has 2^64 of them."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
