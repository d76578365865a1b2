"""A taken port is named together with the program that holds it."""

import os
import socket

import pytest

from localcluster import errors, places, ports

ALL = "0.0.0.0"  # noqa: S104 - compared with, never bound to
API = (ALL, 16443)
DNS = ("10.188.0.1", 53)


@pytest.mark.parametrize(
    ("listener", "taken"),
    [
        pytest.param(("127.0.0.1", 16443, 7), True, id="we want all addresses"),
        pytest.param((ALL, 53, 7), True, id="another has all addresses"),
        pytest.param(("::", 53, 7), True, id="another has all addresses of version 6"),
        pytest.param(("127.0.0.53", 53, 7), False, id="a resolver on its own address"),
        pytest.param((ALL, 6443, 7), False, id="another cluster's port"),
    ],
)
def test_conflicts(listener: tuple[str, int, int], taken: bool) -> None:
    assert ports.conflicts([API, DNS], [listener]) == ([listener] if taken else [])


def test_the_message_names_the_process() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(errors.ClusterError, match=f"is held by process {os.getpid()} "):
            ports.check([server.getsockname()])


def test_a_process_of_another_user_is_told_as_such() -> None:
    assert "ss -lntup" in ports.describe(None, [])


def test_no_port_is_wanted_twice_and_a_second_node_needs_none_of_the_hosts() -> None:
    needed = ports.needed(places.nodes(2))
    assert len(needed) == len(set(needed))
    assert needed == ports.needed(places.nodes(1))
