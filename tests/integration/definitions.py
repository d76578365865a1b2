"""Resources of others that pages speak of, with no rule about what is in them."""

import json
from typing import Any

from integration.operators import eventually
from integration.server import ApiServer


def define(server: ApiServer, group: str, kind: str, name: str = "v1") -> str:
    """Let the server know such a resource; its name, for who takes it away again."""
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: dict[str, Any] = {"name": name, "served": True, "storage": True}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }
    made = server.kubectl("create", "-f-", input=json.dumps(body))
    assert made.returncode == 0, made.stderr
    asked = ("get", "--raw", f"/apis/{group}/{name}/{plural}")
    eventually(lambda: server.kubectl(*asked).returncode == 0)
    return f"{plural}.{group}"
