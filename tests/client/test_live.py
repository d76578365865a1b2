"""Questions to the operator's leader, through a port-forward over real connections."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from client.kubelets import DEFINITION, HOST, Cluster, a_cluster, a_replica
from handlers.pods import a_report, a_scene, a_token
from trainingjobs.client import forward, live
from trainingjobs.client.errors import (
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
POSING = a_replica(1, namespace="mallory")
"""A pod of anybody's, with all that the operator's leader is known by."""


@pytest.mark.parametrize(
    ("cluster", "kind", "words"),
    [
        (Cluster([]), NotInstalledError, "install it first"),
        (Cluster([], forbidden=LISTS), RefusedError, "`list` on `pods`"),
        (Cluster([], forbidden=("v1/pods",)), NotInstalledError, "$TRAININGJOB_OPERATOR_NAMESPACE"),
        (Cluster([POSING]), NotInstalledError, "labels are in mallory: name"),
        (Cluster([POSING], marked=""), NotInstalledError, "$TRAININGJOB_OPERATOR_NAMESPACE"),
        (Cluster([POSING], marked="ops"), NotInstalledError, "no operator runs in ops or"),
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


async def test_a_pod_that_poses_as_the_operator_gets_no_token(tmp_path: Path) -> None:
    cluster = Cluster([POSING])
    async with a_cluster(cluster, tmp_path) as client:
        operator = Operator(client.raw, "lab")
        with pytest.raises(NotInstalledError):
            await operator.token()
        cluster.pods.append(a_replica(2))
        assert (await operator.target()).namespace == "trainingjob-system"
        await operator.token()
    assert [whose["namespace"] for whose, _ in cluster.tokens] == ["trainingjob-system"]


@pytest.mark.parametrize("how", ["named", "marked"])
async def test_an_operator_of_another_namespace_is_believed_by_who_may_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "named":
        monkeypatch.setenv("TRAININGJOB_OPERATOR_NAMESPACE", "ops")
    pods = [POSING, a_replica(2, namespace="ops")]
    cluster = Cluster(pods, marked="ops" if how == "marked" else None)
    said: list[str] = []
    async with a_cluster(cluster, tmp_path) as client:
        operator = Operator(client.raw, "lab", said.append)
        for _ in range(3):
            assert (await operator.target()).namespace == "ops"
    assert said == ["The operator is pod op-1 in ops."]
    # it is looked for once; who leads there, each time
    assert cluster.asked.count("/api/v1/namespaces/ops/pods") == 3
    assert cluster.asked.count(DEFINITION) == (how == "marked")
    assert "/api/v1/pods" not in cluster.asked


async def test_of_the_usual_place_nothing_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    async with a_cluster(Cluster([a_replica(1)]), tmp_path) as client:
        await Operator(client.raw, "lab", said.append).target()
    assert said == []


async def test_a_token_that_is_not_taken_is_made_anew_once(tmp_path: Path) -> None:
    """A machine that has slept has an old one, and does not know it."""
    async with a_scene() as scene:
        scene.authority.may.add((ACCOUNT, "lab", "mnist"))
        old, new = a_token(aud=[AUDIENCE]), a_token(aud=[AUDIENCE], iat=1)
        cluster = Cluster([a_replica(port_of(scene.url))], token=old)
        scene.authority.revoked.add(old)
        async with a_cluster(cluster, tmp_path) as client, live.opened(client.raw, "lab") as way:
            with pytest.raises(RefusedError, match="does not take the token"):
                await way.whole("lab", "mnist")
            assert len(cluster.tokens) == 2
            cluster.token = new
            assert (await way.whole("lab", "mnist"))["findings"] == []
            await way.whole("lab", "mnist")
    assert len(cluster.tokens) == 3


async def test_a_token_ages_while_the_machine_sleeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 1_000_000.0
    monkeypatch.setattr(live.time, "time", lambda: day)
    cluster = Cluster([a_replica(1)])
    async with a_cluster(cluster, tmp_path) as client, live.opened(client.raw, "lab") as way:
        for after in (0, 479, 481, 482, -1):
            day = 1_000_000.0 + after
            await way._bearer()  # noqa: SLF001
    assert len(cluster.tokens) == 3  # at first, when it is old, and when time went back


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
