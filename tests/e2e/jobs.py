"""Jobs for the tests: small, quick to end, and welcome in a restricted namespace."""

import secrets
from pathlib import Path
from typing import Any

from e2e.harness import Manifest
from trainingjobs.model import labels

IMAGE = "localhost/trainingjob-trainer:dev"
GROUP = Path(__file__).with_name("group.py").read_text()
SLEEP = "import time; time.sleep(3600)"
KILL = """
import os, pathlib
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        groups, command = (process / "cgroup").read_text(), (process / "cmdline").read_text()
    except OSError:
        continue
    if os.environ["POD"] in groups.replace("_", "-") and "pause" not in command:
        os.kill(int(process.name), 9)
"""

_POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def a_template(script: str = GROUP, *, image: str = IMAGE, **env: str) -> Manifest:
    """A pod that runs a script and needs next to nothing."""
    container = {
        "name": "trainer",
        "image": image,
        "command": ["python", "-c", script],
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "securityContext": CONTAINER_SECURITY,
    }
    return {
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "securityContext": _POD_SECURITY,
            "containers": [container],
        }
    }


def a_job(name: str, instances: int, template: Manifest | None = None, **spec: Any) -> Manifest:
    """A TrainingJob; by default its ranks form a group and succeed after a few steps."""
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"name": name},
        "spec": {
            "PARALLEL_INSTANCES": instances,
            "template": template or a_template(),
            **spec,
        },
    }


def a_quota(pods: int) -> Manifest:
    """Room for so many pods in a namespace."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "room"},
        "spec": {"hard": {"pods": str(pods)}},
    }


def a_killer(node: str, pod_uid: str) -> Manifest:
    """A pod that sends SIGKILL to all processes of another, which is not possible from within."""
    container = {
        "name": "killer",
        "image": IMAGE,
        "command": ["python", "-c", KILL],
        "env": [{"name": "POD", "value": pod_uid}],
        "securityContext": {"runAsUser": 0},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"killer-{secrets.token_hex(3)}"},
        "spec": {
            "nodeName": node,
            "hostPID": True,
            "restartPolicy": "Never",
            "containers": [container],
        },
    }
