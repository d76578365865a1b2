"""Questions to the operator's leader, through a port-forward over real connections."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from client.kubelets import HOST, Cluster, a_cluster, a_replica
from handlers.pods import a_report, a_scene, a_token
from trainingjobs.client import forward, live
from trainingjobs.client.failures import (
    ClientError,
    NotFoundError,
    NotInstalledError,
    RefusedError,
    UnreachableError,
)
from trainingjobs.client.leader import Operator

pytestmark = pytest.mark.timeout(30)
AUDIENCE = "trainingjob.dev/status"
ACCOUNT = "system:serviceaccount:lab:default"


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def a_free_port() -> int:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        return int(taken.getsockname()[1])


async def test_all_ranks_come_through_the_port_forward(tmp_path: Path) -> None:
    async with a_scene() as scene:
        scene.authority.may.add((ACCOUNT, "lab", "mnist"))
        await scene.report(a_report(stage="joining", waitsIn="all_reduce"))
        cluster = Cluster([a_replica(port_of(scene.url))], token=a_token(aud=[AUDIENCE]))
        async with a_cluster(cluster, tmp_path) as client, live.opened(client.raw, "lab") as way:
            for _ in range(3):
                whole = await way.whole("lab", "mnist")
            assert (await way.stacks("lab", "mnist"))["stacks"][0]["ranks"] == "0"
    assert whole["ranks"][0]["waitsIn"] == "all_reduce"
    whose = {"namespace": "trainingjob-system", "name": "op"}
    assert cluster.tokens == [(whose, {"audiences": [AUDIENCE], "expirationSeconds": 600})]


async def test_an_account_of_ones_own(tmp_path: Path) -> None:
    cluster = Cluster([a_replica(1)])
    async with a_cluster(cluster, tmp_path) as client:
        operator = Operator(client.raw, "lab")
        assert await operator.token("viewer") == "a-token"
        assert await operator.token("other/viewer") == "a-token"
    found = [(whose["namespace"], whose["name"]) for whose, _ in cluster.tokens]
    assert found == [("lab", "viewer"), ("other", "viewer")]


LISTS = ("/pods",)
ELSEWHERE = [{**a_replica(1), "metadata": {**a_replica(1)["metadata"], "namespace": "ops"}}]


@pytest.mark.parametrize(
    ("cluster", "kind", "words"),
    [
        (Cluster([]), NotInstalledError, "install it first"),
        (Cluster([], forbidden=LISTS), RefusedError, "`list` on `pods`"),
        (Cluster([], forbidden=("v1/pods",)), RefusedError, "$TRAININGJOB_OPERATOR_NAMESPACE"),
        (Cluster([a_replica(1, leads=False)]), UnreachableError, "leads now: try again"),
        (Cluster([a_replica(1, serves="a b")]), NotInstalledError, "does not serve lab"),
        (Cluster([a_replica(1, port="http")]), ClientError, "rollCall.enabled"),
        (Cluster([a_replica(1)], forbidden=("/token",)), RefusedError, "--account"),
        (Cluster([a_replica(1)], forbidden=("/portforward",)), RefusedError, "pods/portforward"),
        (Cluster([a_replica(a_free_port())]), UnreachableError, "refused inside of the pod"),
    ],
)
async def test_what_is_in_the_way_is_told(
    tmp_path: Path, cluster: Cluster, kind: type[ClientError], words: str
) -> None:
    async with a_cluster(cluster, tmp_path) as client, live.opened(client.raw, "lab") as way:
        with pytest.raises(kind) as told:
            await way.whole("lab", "mnist")
    assert words in str(told.value)


async def test_an_operator_of_another_namespace_is_found(tmp_path: Path) -> None:
    async with a_cluster(Cluster(ELSEWHERE), tmp_path) as client:
        assert (await Operator(client.raw, "lab").target()).namespace == "ops"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [("none", NotFoundError, "no such TrainingJob"), ("other", RefusedError, "--account")],
)
async def test_the_operators_own_answer_is_told(
    tmp_path: Path, name: str, kind: type[ClientError], words: str
) -> None:
    async with a_scene() as scene:
        scene.authority.may.add((ACCOUNT, "lab", "none"))
        cluster = Cluster([a_replica(port_of(scene.url))], token=a_token(aud=[AUDIENCE]))
        async with a_cluster(cluster, tmp_path) as client, live.opened(client.raw, "lab") as way:
            with pytest.raises(kind, match=words):
                await way.whole("lab", name)


async def test_a_replica_that_does_not_lead_any_more_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_PAUSES", (0.0,))
    async with a_scene(leads=lambda: False) as old, a_scene() as new:
        for scene in (old, new):
            scene.authority.may.add((ACCOUNT, "lab", "mnist"))
        cluster = Cluster([a_replica(port_of(old.url))], token=a_token(aud=[AUDIENCE]))
        async with a_cluster(cluster, tmp_path) as client, live.opened(client.raw, "lab") as way:
            asked = asyncio.create_task(way.whole("lab", "mnist"))
            await cluster.forwarding.wait()
            cluster.pods[:] = [a_replica(port_of(new.url))]
            assert (await asked)["findings"] == []


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What was said comes back, until its end."""
    while data := await reader.read(1000):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_bytes_go_both_ways_until_one_side_ends(tmp_path: Path) -> None:
    said = bytes(range(256)) * 2000
    server = await asyncio.start_server(echo, HOST, 0)
    cluster = Cluster([a_replica(server.sockets[0].getsockname()[1])])
    async with a_cluster(cluster, tmp_path) as client:
        target = Operator(client.raw, "lab").target
        async with forward.listening(client.raw, target) as way:
            reader, writer = await asyncio.open_connection(HOST, way.port)
            sending = asyncio.create_task(sent(writer, said))
            assert await reader.readexactly(len(said)) == said
            await sending
            writer.close()
            refused, left = await asyncio.open_connection(HOST, way.port)
        assert await refused.read() == b""  # the listener's end is that of its connections
        left.close()
        with pytest.raises(OSError, match="failed"):
            await asyncio.open_connection(HOST, way.port)
    server.close()


async def sent(writer: asyncio.StreamWriter, data: bytes) -> None:
    """All of it."""
    writer.write(data)
    await writer.drain()


async def test_a_port_that_is_taken_is_no_silence(tmp_path: Path) -> None:
    async def nobody() -> Any:
        raise AssertionError

    async with (
        a_cluster(Cluster([]), tmp_path) as client,
        forward.listening(client.raw, nobody) as way,
    ):
        with pytest.raises(OSError, match="in use"):
            async with forward.listening(client.raw, nobody, way.port):
                pass
