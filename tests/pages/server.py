"""An API server that knows which resources there are, and has none of them: kubectl's own checks.

Against it the real kubectl reads flags, files, resource names and templates as it always does;
what is well asked ends with NotFound, and what is not with another error.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

NAMESPACED = {
    "": "pods services configmaps secrets events serviceaccounts resourcequotas "
    "persistentvolumeclaims",
    "apps": "deployments",
    "coordination.k8s.io": "leases",
    "rbac.authorization.k8s.io": "roles rolebindings",
    "trainingjob.dev": "trainingjobs",
    "kubeflow.org": "pytorchjobs tfjobs mpijobs",
    "trainer.kubeflow.org": "trainjobs trainingruntimes",
}
CLUSTER = {"": "namespaces nodes", "apiextensions.k8s.io": "customresourcedefinitions"}
KINDS = {
    "trainingjobs": ("TrainingJob", ["tj"]),
    "pytorchjobs": ("PyTorchJob", []),
    "customresourcedefinitions": ("CustomResourceDefinition", ["crd"]),
    "persistentvolumeclaims": ("PersistentVolumeClaim", ["pvc"]),
    "rolebindings": ("RoleBinding", []),
    "resourcequotas": ("ResourceQuota", ["quota"]),
    "serviceaccounts": ("ServiceAccount", ["sa"]),
    "configmaps": ("ConfigMap", ["cm"]),
}
NOTHING = "nothing is here"
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def answer(path: str) -> tuple[int, dict[str, Any]]:
    """What is served at a path."""
    groups = sorted((NAMESPACED.keys() | CLUSTER.keys()) - {""})
    if path == "/version":
        return 200, {"major": "1", "minor": "37", "gitVersion": "v1.37.0"}
    if path == "/api":
        return 200, {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [*map(_group, groups)]}
    parts = path.strip("/").split("/")
    if path == "/api/v1":
        return 200, _resources("")
    if len(parts) == 3 and parts[0] == "apis" and parts[1] in groups:
        return 200, _resources(parts[1])
    return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                 "code": 404, "message": NOTHING}  # fmt: skip


def _group(name: str) -> dict[str, Any]:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resources(group: str) -> dict[str, Any]:
    listed = [
        (name, namespaced)
        for table, namespaced in ((NAMESPACED, True), (CLUSTER, False))
        for name in table.get(group, "").split()
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/v1" if group else "v1",
        "resources": [_resource(name, namespaced=namespaced) for name, namespaced in listed],
    }


def _resource(name: str, *, namespaced: bool) -> dict[str, Any]:
    kind, short = KINDS.get(name, (name.removesuffix("s").capitalize(), []))
    return {"name": name, "singularName": kind.lower(), "kind": kind, "shortNames": short,
            "namespaced": namespaced, "verbs": VERBS}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    """Answers every method alike."""

    def do_GET(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        code, body = answer(self.path.partition("?")[0])
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its own name
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[Path]:
    """The kubeconfig of such a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    file = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        ],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(config))
    try:
        yield file
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
