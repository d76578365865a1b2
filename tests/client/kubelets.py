"""An API server with one operator's pod, whose port is one of this machine's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from client.served import a_kubeconfig
from trainingjobs.client.aio import AsyncTrainingJobClient

PROTOCOL = "v4.channel.k8s.io"
HOST = "127.0.0.1"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainingjobs.trainingjob.dev"


def a_replica(
    number: int,
    *,
    leads: bool = True,
    serves: str = "",
    port: str = "rollcall",
    namespace: str = "trainingjob-system",
) -> dict[str, Any]:
    """A pod of the operator."""
    leader = {"trainingjob.dev/leader": "true"} if leads else {}
    container = {
        "name": "operator",
        "env": [{"name": "TRAININGJOBS_NAMESPACES", "value": serves}],
        "ports": [{"name": port, "containerPort": number}],
    }
    return {
        "metadata": {"namespace": namespace, "name": "op-1", "labels": leader},
        "spec": {"serviceAccountName": "op", "containers": [{"name": "mesh"}, container]},
    }


@dataclass
class Cluster:
    """What the API server has, and whom it refuses."""

    pods: list[dict[str, Any]]
    token: str = "a-token"
    forbidden: tuple[str, ...] = ()
    """Ends of paths that are answered with 403."""
    asked: list[str] = field(default_factory=list)
    forwarding: asyncio.Event = field(default_factory=asyncio.Event)
    tokens: list[Any] = field(default_factory=list)
    marked: str | None = None
    """The namespace that Helm has written on the definition; None where it may not be read."""

    def app(self) -> web.Application:
        """It serves."""
        app = web.Application(middlewares=[self._kept()])
        at = "/api/v1/namespaces/{namespace}"
        app.router.add_get("/api/v1/pods", self._list)
        app.router.add_get(f"{at}/pods", self._list)
        app.router.add_get(DEFINITION, self._definition)
        app.router.add_post(f"{at}/serviceaccounts/{{name}}/token", self._token)
        app.router.add_get(f"{at}/pods/{{pod}}/portforward", self._forward)
        return app

    def _kept(self) -> Any:
        @web.middleware
        async def keep(request: web.Request, handler: Any) -> web.StreamResponse:
            self.asked.append(request.path)
            if any(request.path.endswith(end) for end in self.forbidden):
                body = {"kind": "Status", "code": 403, "message": "no"}
                return web.json_response(body, status=403)
            found: web.StreamResponse = await handler(request)
            return found

        return keep

    async def _list(self, request: web.Request) -> web.Response:
        assert "component=operator" in request.query["labelSelector"]
        where = request.match_info.get("namespace")
        items = [pod for pod in self.pods if where in {None, pod["metadata"]["namespace"]}]
        return web.json_response({"items": items})

    async def _definition(self, _: web.Request) -> web.Response:
        if self.marked is None:
            return web.json_response({"kind": "Status", "code": 403, "message": "no"}, status=403)
        marks = {"meta.helm.sh/release-namespace": self.marked} if self.marked else {}
        return web.json_response({"metadata": {"annotations": marks}})

    async def _token(self, request: web.Request) -> web.Response:
        self.tokens.append((dict(request.match_info), (await request.json())["spec"]))
        return web.json_response({"status": {"token": self.token}})

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        self.forwarding.set()
        return await forwarded(request, int(request.query["ports"]))


async def forwarded(request: web.Request, port: int) -> web.StreamResponse:
    """Carry bytes to a port of this machine and back, as a kubelet does."""
    socket = web.WebSocketResponse(protocols=[PROTOCOL])
    await socket.prepare(request)
    for channel in (0, 1):
        await socket.send_bytes(bytes([channel]) + port.to_bytes(2, "little"))
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        await socket.send_bytes(b"\x01connection refused inside of the pod")
        await socket.close()
        return socket
    back = asyncio.create_task(_back(reader, socket))
    async for message in socket:
        assert message.type is WSMsgType.BINARY
        assert message.data[0] == 0
        writer.write(message.data[1:])
    back.cancel()
    writer.close()
    return socket


async def _back(reader: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
    while data := await reader.read(1000):
        await socket.send_bytes(b"\x00" + data)
    await socket.close()


@asynccontextmanager
async def a_cluster(
    cluster: Cluster, folder: Path, namespace: str = "lab"
) -> AsyncIterator[AsyncTrainingJobClient]:
    """A client of that API server, which serves meanwhile."""
    runner = web.AppRunner(cluster.app(), shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    port = runner.addresses[0][1]
    config = a_kubeconfig(folder, cluster={"server": f"http://{HOST}:{port}"})
    try:
        async with AsyncTrainingJobClient(kubeconfig=str(config), namespace=namespace) as client:
            yield client
    finally:
        await runner.cleanup()
