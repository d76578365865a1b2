"""The chart as helm renders it, without a cluster, and the values that the tests render it with."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from localcluster import binaries

Manifest = dict[str, Any]
Values = Mapping[str, Any]

CHART = Path(__file__).parents[2] / "charts" / "trainingjob-operator"
NAME = "trainingjob-operator"
NAMESPACE = "trainingjob-system"

DEFAULTS: Values = {}
NAMESPACED: Values = {"namespaces": ["team-a", "team-b"]}
EVERYTHING: Values = {
    "nameOverride": "tj",
    "fullnameOverride": "tj-operator",
    "image": {"repository": "images.example/tj", "tag": "1.2", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "pull"}],
    "crds": {"install": True, "keep": False},
    "operator": {
        "clusterDomain": "example.internal",
        "parallelWrites": 8,
        "resyncSeconds": 0.5,
        "logLevel": "DEBUG",
        "logFormat": "text",
    },
    "rollCall": {
        "enabled": True,
        "port": 9081,
        "reportRate": 50.5,
        "apiServerTokens": True,
        "url": "http://reports.example/api/v1/reports",
        "annotations": {"example.com/i": "j"},
    },
    "notify": {"enabled": True, "allowHttp": True, "networks": ["10.1.0.0/16", "fd00::/8"]},
    "serviceAccount": {"name": "tj-account", "annotations": {"example.com/a": "b"}},
    "podAnnotations": {"example.com/c": "d"},
    "podLabels": {"example.com/e": "f"},
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}
                ]
            }
        }
    },
    "metrics": {
        "service": {"enabled": True, "port": 9090, "annotations": {"example.com/g": "h"}},
        "serviceMonitor": {"enabled": True, "interval": "1m", "labels": {"release": "prometheus"}},
        "alerts": {"enabled": True, "labels": {"release": "prometheus"}},
        "dashboard": {
            "enabled": True,
            "labels": {"grafana_dashboard": "yes"},
            "annotations": {"grafana_folder": "Training"},
        },
    },
    "networkPolicy": {
        "enabled": True,
        "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "egress": [{"ports": [{"protocol": "TCP", "port": 6443}]}],
    },
    "podDisruptionBudget": {"enabled": True, "maxUnavailable": 0},
    "replicaCount": 3,
}
ALL_VALUES = {"defaults": DEFAULTS, "namespaced": NAMESPACED, "everything": EVERYTHING}


@dataclass(frozen=True, slots=True)
class Helm:
    """The program, and a folder for whatever it wants to write."""

    program: Path
    home: Path

    def run(self, *args: str, values: Values | None = None) -> subprocess.CompletedProcess[str]:
        """What helm answers; the caller names a cluster, and looks at the exit status."""
        given = () if values is None else ("--values=-",)
        return subprocess.run(
            [str(self.program), *args, *given],
            input=json.dumps(values),
            env={"HOME": str(self.home), "KUBECONFIG": str(self.home / "none")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def render(self, values: Values = DEFAULTS, *flags: str, release: str = NAME) -> list[Manifest]:
        """All objects that the chart makes of the values, those of `helm test` among them."""
        place = f"--namespace={NAMESPACE}"
        result = self.run("template", release, str(CHART), place, *flags, values=values)
        assert result.returncode == 0, result.stderr
        return [manifest for manifest in yaml.safe_load_all(result.stdout) if manifest]


def helm(home: Path) -> Helm:
    """The helm that the environment names, else the one that we build."""
    if named := os.environ.get("HELM"):
        return Helm(Path(named), home)
    return Helm(binaries.ensure(["helm"]) / "helm", home)


def of_kind(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    """Those of the manifests that are of one of the kinds."""
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


def permissions(roles: list[Manifest]) -> set[tuple[str, str, str]]:
    """Group, resource and verb of all that the roles allow."""
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
