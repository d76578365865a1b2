"""A kubelet for pages: pods get a node, run for a moment and end well, and their logs can be read.

It also does what other parts of a cluster do, and the API server of these tests has not: it takes
away what belongs to a job that is gone, and a pod that names no account gets `default`. The API
server alone asks it: for a log and the way to a port as any kubelet, and what to change of a pod.
"""

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from kubernetes import client, config

from client import kubelets
from integration.operators import eventually
from integration.server import ApiServer
from trainingjobs.model import labels

HOST = "127.0.0.1"
RUNS_FOR = 0.4
_PAUSE = 0.1
_GONE = {404, 409}
_JOBS = ("trainingjob.dev", "v1")


class Kubelet:
    """The node of one namespace."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.namespace, self.name = namespace, f"node-{namespace}"
        self.stay: set[str] = set()
        """Jobs whose pods run on."""
        self.stay_once: set[str] = set()
        """Jobs whose pods run on in their first attempt."""
        self.wait: set[str] = set()
        """Jobs whose pods get no node."""
        self.codes: dict[str, int] = {}
        """How pods end that do not end well."""
        self._server = server
        api = config.new_client_from_config(str(server.kubeconfig))
        self._core, self._custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
        self._hooks = client.AdmissionregistrationV1Api(api)
        self._since: dict[str, datetime] = {}
        self._ended: set[str] = set()
        self._alive: set[str] = set()
        self._ready, self._over = threading.Event(), threading.Event()

    async def serve(self) -> None:
        """Be the kubelet until it is over."""
        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._log)
        app.router.add_get("/portForward/{namespace}/{pod}", self._forward)
        app.router.add_post("/account", self._account)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._server.ca, self._server.ca.with_suffix(".key"))
        await web.TCPSite(runner, HOST, 0, ssl_context=context).start()
        try:
            await asyncio.to_thread(self._join, runner.addresses[0][1])
            self._ready.set()
            while not self._over.is_set():
                await asyncio.to_thread(self._look)
                await asyncio.sleep(_PAUSE)
        finally:
            self._ready.set()
            await runner.cleanup()

    def until_ready(self) -> None:
        """It is a node of the cluster."""
        self._ready.wait(20)

    def leave(self) -> None:
        """No node any more."""
        self._over.set()
        self._hooks.delete_mutating_webhook_configuration(self.name)
        self._core.delete_node(self.name)

    def until_empty(self) -> None:
        """No pod of a job is left."""
        eventually(lambda: not any(map(_job, self._listed("pods"))))

    def _join(self, port: int) -> None:
        self._core.create_node({"metadata": {"name": self.name}})
        status = {
            "addresses": [{"type": "InternalIP", "address": HOST}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        self._core.patch_node_status(self.name, {"status": status})
        self._hooks.create_mutating_webhook_configuration(self._hook(port))
        pod = {"metadata": {"name": "asked"}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
        eventually(
            lambda: (
                self._core.create_namespaced_pod(
                    self.namespace, pod, dry_run="All"
                ).spec.service_account_name
            )
        )

    def _hook(self, port: int) -> Any:
        url, ca = f"https://{HOST}:{port}/account", self._server.ca.read_bytes()
        return {
            "metadata": {"name": self.name},
            "webhooks": [
                {
                    "name": "account.test.dev",
                    "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
                    "rules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                         "operations": ["CREATE"]}
                    ],
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": self.namespace}
                    },
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }  # fmt: skip

    def _look(self) -> None:
        jobs = self._custom.list_namespaced_custom_object(*_JOBS, self.namespace, labels.PLURAL)
        alive = {job["metadata"]["uid"] for job in jobs["items"]}
        others = () if alive == self._alive else ("services", "config_maps")
        self._alive = alive
        for kind in ("pods", *others):
            for item in self._listed(kind):
                owners = [it["uid"] for it in item["metadata"].get("ownerReferences", ())]
                if owners and not alive.intersection(owners):
                    self._try(f"delete_namespaced_{kind[:-1]}", item)
                elif kind == "pods":
                    self._care(item)

    def _care(self, pod: Any) -> None:
        """The next step of a pod's life."""
        phase, job = pod["status"]["phase"], _job(pod)
        if "deletionTimestamp" in pod["metadata"]:
            self._try("delete_namespaced_pod", pod)
        elif job in self.wait:
            pass
        elif "nodeName" not in pod["spec"]:
            node = {"apiVersion": "v1", "kind": "Node", "name": self.name}
            binding = {"metadata": {"name": pod["metadata"]["name"]}, "target": node}
            self._try("create_namespaced_pod_binding", pod, binding)
        elif phase == "Pending":
            self._begin(pod)
        elif phase == "Running" and self._has_done(pod, job):
            self._end(pod)

    def _has_done(self, pod: Any, job: str) -> bool:
        told = pod["metadata"]["labels"]
        if job in self.stay or (told.get(labels.ATTEMPT) == "1" and job in self.stay_once):
            return False
        if told.get(labels.APP_COMPONENT) == "operator":
            return False
        since = self._since[pod["metadata"]["uid"]]
        return (datetime.now(UTC) - since).total_seconds() > RUNS_FOR

    def _begin(self, pod: Any) -> None:
        now = datetime.now(UTC)
        self._since[pod["metadata"]["uid"]] = self._since[pod["metadata"]["name"]] = now
        self._ended.discard(pod["metadata"]["name"])
        self._tell(pod, "Running", {"running": {"startedAt": _text(now)}})

    def _end(self, pod: Any) -> None:
        name = pod["metadata"]["name"]
        code = self.codes.get(name, 0)
        since = self._since[pod["metadata"]["uid"]]
        ended = {"exitCode": code, "reason": "Error" if code else "Completed",
                 "startedAt": _text(since), "finishedAt": _text(datetime.now(UTC))}  # fmt: skip
        self._tell(pod, "Failed" if code else "Succeeded", {"terminated": ended})
        self._ended.add(name)

    def _tell(self, pod: Any, phase: str, state: Any) -> None:
        told = [
            {"name": it["name"], "image": "i", "imageID": "", "restartCount": 0,
             "ready": "running" in state, "state": state}
            for it in pod["spec"]["containers"]
        ]  # fmt: skip
        conditions = [{"type": "PodScheduled", "status": "True"}]
        status = {"phase": phase, "conditions": conditions, "containerStatuses": told}
        self._try("patch_namespaced_pod_status", pod, {"status": status})

    def _listed(self, kind: str) -> list[Any]:
        call = getattr(self._core, f"list_namespaced_{kind.removesuffix('s')}")
        found: list[Any] = json.loads(call(self.namespace, _preload_content=False).data)["items"]
        return found

    def _try(self, call: str, item: Any, body: Any = None) -> None:
        """What is gone by now needs nothing."""
        if call.startswith("delete"):
            body = {"gracePeriodSeconds": 0}
        place = (item["metadata"]["name"], self.namespace)
        try:
            getattr(self._core, call)(*place, body=body, _preload_content=False)
        except client.ApiException as error:
            if error.status not in _GONE:
                raise

    async def _log(self, request: web.Request) -> web.StreamResponse:
        """One line, and the end of it once the pod has ended."""
        pod = request.match_info["pod"]
        answer = web.StreamResponse()
        await answer.prepare(request)
        stamp = f"{_text(self._since[pod])} " if "timestamps" in request.query else ""
        await answer.write(f"{stamp}{pod} speaks\n".encode())
        while "follow" in request.query and pod not in self._ended:  # noqa: ASYNC110  a thread adds it
            await asyncio.sleep(_PAUSE)
        return answer

    async def _account(self, request: web.Request) -> web.Response:
        """The account that a pod gets, where it names none."""
        review = await request.json()
        pod = review["request"]["object"]
        change = {"op": "add", "path": "/spec/serviceAccountName", "value": "default"}
        changes = [] if pod["spec"].get("serviceAccountName") else [change]
        patch = base64.b64encode(json.dumps(changes).encode()).decode()
        answer = {"uid": review["request"]["uid"], "allowed": True}
        changed = {"patchType": "JSONPatch", "patch": patch}
        return web.json_response({**review, "response": {**answer, **changed}})

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        return await kubelets.forwarded(request, int(request.query["port"]))


def _job(pod: Any) -> str:
    found = pod["metadata"].get("labels", {})
    return str(found.get(labels.APP_INSTANCE, "")) if labels.ATTEMPT in found else ""


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def kubelet(server: ApiServer, namespace: str) -> Iterator[Kubelet]:
    """A node for the pods of a namespace; what went wrong in it is told at its end."""
    node = Kubelet(server, namespace)
    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(lambda: asyncio.run(node.serve()))
        node.until_ready()
        try:
            yield node
        finally:
            node.leave()
            serving.result(30)
