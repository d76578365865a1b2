"""Stands where launchers look for ssh, and brings their command to a worker's door.

It takes ssh's options and means none of them: there is one port, one user and one way to prove who
one is. The exit code is the command's, or 255 where the door was not reached, as ssh's is.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import sys
import time

from _trainingjob_launch import group, wire
from _trainingjob_launch.group import Group

_WITH_VALUE = frozenset("BbcDEeFIiJLlmOopQRSWw")
"""Options of ssh(1) that take one."""
_FAILED = 255
_TRY_SECONDS = 30.0
_PAUSE = 0.5


def main(own: Group, arguments: list[str]) -> int:
    """Run a command on a host."""
    host, command = parsed(arguments)
    if host and not command and not (_is_here(own, host) or _named(own, host)):
        return _other(own, host, arguments)
    if not host or not command:
        print("ssh: a host and a command are needed: there are no shells here", file=sys.stderr)
        return _FAILED
    if _is_here(own, host):
        return _run_here(own, command)
    name = _named(own, host)
    if not name:
        return _other(own, host, arguments)
    try:
        return _relay(_reached(own, name, command))
    except (OSError, wire.WireError) as error:
        print(f"ssh: {host}: {error}", file=sys.stderr)
        return _FAILED


def parsed(arguments: list[str]) -> tuple[str, str]:
    """The host and the command; options may stand before the host and after it, as with ssh."""
    rest = _without_options(arguments)
    host = rest[0].rpartition("@")[2] if rest else ""
    return host, " ".join(_without_options(rest[1:]))


def _without_options(arguments: list[str]) -> list[str]:
    """What follows the options at the beginning."""
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option == "--":
            break
        if _takes_next(option) and rest:
            rest.pop(0)
    return rest


def _takes_next(option: str) -> bool:
    """True when the option's value is the next argument: `-p 22`, and not `-p22` or `-tt`."""
    for place, letter in enumerate(option[1:], 2):
        if letter in _WITH_VALUE:
            return place == len(option)
    return False


def _is_here(own: Group, host: str) -> bool:
    """True for this pod's own names: nobody listens at the master's door."""
    me = socket.gethostname()
    if host in {"localhost", me} or host.partition(".")[0] == me.partition(".")[0]:
        return True
    mine = _addresses(me) | _addresses("localhost")
    return bool(mine & _addresses(own.full(host)))


def _named(own: Group, host: str) -> str:
    """The full name of a host of the group, known by its names or an address; else empty."""
    full = own.full(host)
    for name in own.hosts:
        if name == full or name.startswith(f"{full}."):
            return name
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        return ""
    return next((name for name in own.hosts if address in _addresses(name)), "")


def _other(own: Group, host: str, arguments: list[str]) -> int:
    """Leave it to the image's own ssh, which git and others mean."""
    mine = {os.path.realpath(folder) for folder in (own.here, own.bin)}
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(it for it in folders if os.path.realpath(it) not in mine)
    found = shutil.which("ssh", path=path)
    if found is not None:
        os.execv(found, [found, *arguments])  # noqa: S606
    print(f"ssh: {host} is no host of this job, and the image has no ssh", file=sys.stderr)
    return _FAILED


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):  # as of `a..b`
        return set()


def _run_here(own: Group, command: str) -> int:
    os.execve("/bin/sh", ["/bin/sh", "-c", command], dict(group.environment(own)))  # noqa: S606


def _reached(own: Group, host: str, command: str) -> socket.socket:
    """A connection on which the command runs; names and pods may be a moment late."""
    due = time.monotonic() + _TRY_SECONDS
    while True:
        try:
            return wire.dial(own, host, wire.RUN, command)
        except wire.WireError as error:  # noqa: PERF203  a loop that waits
            if isinstance(error, wire.ImpostorError) or time.monotonic() >= due:
                raise
            time.sleep(_PAUSE)


def _relay(sock: socket.socket) -> int:
    """Pass on what the command says, to its end."""
    with sock:
        wire.keep_alive(sock)
        for kind, data in wire.frames(sock):
            if kind == wire.EXIT:
                return int(data)
            if kind == wire.NO:
                raise wire.WireError(wire.plain(data.decode(errors="replace")))
            stream = sys.stdout if kind == wire.OUT else sys.stderr
            stream.buffer.write(data)
            stream.flush()
    raise wire.WireError("the connection was lost")
