"""What the chart makes of the values: labels, selectors, security, and an object per switch."""

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import trainingjobs
from chart.rendering import (
    ALL_VALUES,
    CHART,
    DEFAULTS,
    EVERYTHING,
    NAME,
    NAMESPACE,
    NAMESPACED,
    Helm,
    Manifest,
    Values,
    of_kind,
)
from trainingjobs import settings
from trainingjobs.cli.commands import explained
from trainingjobs.handlers import health, vigil

pytestmark = pytest.mark.integration

every_values = pytest.mark.parametrize("values", ALL_VALUES.values(), ids=ALL_VALUES)

LABEL_VALUE = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
OURS = ("name", "instance", "version", "component", "part-of", "managed-by")
SELECTOR = {
    "app.kubernetes.io/name": NAME,
    "app.kubernetes.io/instance": NAME,
    "app.kubernetes.io/component": "operator",
}


LEADER = "trainingjob.dev/leader"


def deployment(manifests: list[Manifest]) -> Manifest:
    return of_kind(manifests, "Deployment")[0]


def ours(manifests: list[Manifest]) -> list[Manifest]:
    """All but the resource definition, which is generated elsewhere."""
    return [manifest for manifest in manifests if manifest["kind"] != "CustomResourceDefinition"]


def pods(manifests: list[Manifest]) -> list[Manifest]:
    return [deployment(manifests)["spec"]["template"], *of_kind(manifests, "Pod")]


def environment(helm: Helm, values: Values) -> dict[str, str]:
    container = deployment(helm.render(values))["spec"]["template"]["spec"]["containers"][0]
    return {item["name"]: item["value"] for item in container["env"] if "value" in item}


@every_values
def test_lint_finds_nothing(helm: Helm, values: Values) -> None:
    result = helm.run("lint", "--strict", str(CHART), values=values)
    assert result.returncode == 0, result.stdout + result.stderr


ALWAYS = {
    "ServiceAccount": 1,
    "CustomResourceDefinition": 1,
    "Deployment": 1,
    "Service": 1,
    "PodDisruptionBudget": 1,
    "Role": 1,
    "RoleBinding": 1,
}
CLUSTER_WIDE = {"ClusterRole": 4, "ClusterRoleBinding": 2}
ONE_PER_NAMESPACE = {"Role": 3, "RoleBinding": 3, "ClusterRole": 1, "ClusterRoleBinding": 1}
OPTIONS = {
    "Service": 2,
    "ServiceMonitor": 1,
    "PrometheusRule": 1,
    "ConfigMap": 1,
    "NetworkPolicy": 1,
}


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (DEFAULTS, ALWAYS | CLUSTER_WIDE),
        (NAMESPACED, ALWAYS | ONE_PER_NAMESPACE),
        (EVERYTHING, ALWAYS | CLUSTER_WIDE | OPTIONS),
    ],
    ids=ALL_VALUES,
)
def test_each_object_has_its_switch(helm: Helm, values: Values, kinds: dict[str, int]) -> None:
    found = [manifest["kind"] for manifest in helm.render(values, "--skip-tests")]
    assert {kind: found.count(kind) for kind in found} == kinds


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ({"crds": {"install": False}}, {"CustomResourceDefinition"}),
        ({"serviceAccount": {"create": False}}, {"ServiceAccount"}),
        ({"rbac": {"create": False}}, {"ClusterRole", "ClusterRoleBinding"}),
    ],
    ids=["crds", "account", "rbac"],
)
def test_what_is_made_elsewhere_can_be_left_out(
    helm: Helm, values: Values, kinds: set[str]
) -> None:
    assert not of_kind(helm.render(values), *kinds)


@pytest.mark.parametrize(
    ("keep", "policy"), [(True, "keep"), (False, None)], ids=["kept", "not kept"]
)
def test_jobs_outlive_the_chart_unless_told(helm: Helm, keep: bool, policy: str | None) -> None:
    (crd,) = of_kind(helm.render({"crds": {"keep": keep}}), "CustomResourceDefinition")
    annotations = crd["metadata"].get("annotations") or {}
    assert annotations.get("helm.sh/resource-policy") == policy


@every_values
def test_no_two_objects_are_the_same(helm: Helm, values: Values) -> None:
    keys = [
        (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
        for manifest in helm.render(values)
    ]
    assert len(set(keys)) == len(keys)


@every_values
def test_labels_are_complete_and_legal(helm: Helm, values: Values) -> None:
    manifests = ours(helm.render(values))
    for manifest in [*manifests, deployment(manifests)["spec"]["template"]]:
        labels = manifest["metadata"]["labels"]
        assert {f"app.kubernetes.io/{name}" for name in OURS} <= set(labels)
        assert labels["helm.sh/chart"] == f"{NAME}-{trainingjobs.__version__}"
        assert all(LABEL_VALUE.match(value) for value in labels.values())


def test_selectors_never_change(helm: Helm) -> None:
    """A Deployment refuses another selector, so an upgrade with one would fail."""
    values = {
        "metrics": {"service": {"enabled": True}, "serviceMonitor": {"enabled": True}},
        "networkPolicy": {"enabled": True},
        "podDisruptionBudget": {"enabled": True},
        "podLabels": {"more": "labels", "app.kubernetes.io/component": "other"},
    }
    specs = [manifest["spec"] for manifest in helm.render(values) if "spec" in manifest]
    found = [spec["selector"] for spec in specs if "selector" in spec]
    found += [spec["podSelector"] for spec in specs if "podSelector" in spec]
    assert len(found) == 7  # Deployment, two Services, monitor, NetworkPolicy, budget, test
    (reports,) = [selector for selector in found if LEADER in selector]
    assert reports.pop(LEADER) == "true"
    assert all(selector.get("matchLabels", selector) == SELECTOR for selector in found)
    labels = deployment(helm.render(values))["spec"]["template"]["metadata"]["labels"]
    assert labels.items() >= SELECTOR.items()


@pytest.mark.parametrize("release", ["r", "a" * 53, "my-trainingjob-operator"])
def test_names_fit_for_every_release(helm: Helm, release: str) -> None:
    for manifest in ours(helm.render(release=release)):
        assert len(manifest["metadata"]["name"]) <= 63
        assert not manifest["metadata"]["name"].endswith("-")


@every_values
def test_pods_pass_restricted_pod_security(helm: Helm, values: Values) -> None:
    for pod in pods(helm.render(values)):
        assert pod["spec"]["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        (container,) = pod["spec"]["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@every_values
def test_only_the_operator_gets_a_token(helm: Helm, values: Values) -> None:
    manifests = helm.render(values)
    operator, *others = pods(manifests)
    (account,) = of_kind(manifests, "ServiceAccount")
    assert operator["spec"]["automountServiceAccountToken"]
    assert not any(
        pod["spec"]["automountServiceAccountToken"] for pod in [*others, {"spec": account}]
    )


def test_a_successor_is_ready_before_anybody_stops(helm: Helm) -> None:
    spec = deployment(helm.render())["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }
    (budget,) = of_kind(helm.render(), "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1
    assert deployment(helm.render({"replicaCount": 1}))["spec"]["replicas"] == 1


def test_replicas_prefer_different_nodes_unless_told(helm: Helm) -> None:
    affinity = deployment(helm.render())["spec"]["template"]["spec"]["affinity"]
    ((term,),) = [it.values() for it in affinity.values()]
    assert term[0]["podAffinityTerm"] == {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": SELECTOR},
    }


def test_all_replicas_stand_for_the_lease_that_their_role_names(helm: Helm) -> None:
    manifests = helm.render(NAMESPACED, release="mine")
    (own,) = [it for it in of_kind(manifests, "Role") if it["metadata"]["namespace"] == NAMESPACE]
    (named,) = [rule["resourceNames"] for rule in own["rules"] if "resourceNames" in rule]
    (container,) = deployment(manifests)["spec"]["template"]["spec"]["containers"]
    env = {item["name"]: item for item in container["env"]}
    assert env["TRAININGJOBS_LEASE"]["value"] == f"{NAMESPACE}/{named[0]}"
    assert env["POD_NAME"]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_pods_report_to_where_explain_takes_them_to(helm: Helm) -> None:
    url = environment(helm, {})["TRAININGJOBS_REPORT_URL"]
    assert url == explained.usual_reports("cluster.local")


def test_the_kubelet_is_more_patient_than_the_operator_itself(helm: Helm) -> None:
    """Who is ended by it cannot say what was wrong."""
    (container,) = deployment(helm.render())["spec"]["template"]["spec"]["containers"]
    probe = container["livenessProbe"]
    patience = (probe["failureThreshold"] - 1) * probe["periodSeconds"]
    assert patience > health.GRACE_SECONDS + 3 * vigil.CHECK_SECONDS


def test_probes_ask_the_named_port(helm: Helm) -> None:
    (container,) = deployment(helm.render())["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["run"]
    assert container["ports"] == [
        {"name": "http", "containerPort": 8080},
        {"name": "rollcall", "containerPort": 8081},
    ]
    probes = {
        name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")
    }
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} == {"http"}


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ({}, f"trainingjob-operator:{trainingjobs.__version__}"),
        ({"repository": "a.example:5000/b", "tag": "2"}, "a.example:5000/b:2"),
        ({"repository": "a.example/b", "tag": "2", "digest": DIGEST}, f"a.example/b@{DIGEST}"),
    ],
    ids=["version of the chart", "tag", "digest"],
)
def test_all_pods_use_the_one_image(helm: Helm, image: Values, name: str) -> None:
    images = {pod["spec"]["containers"][0]["image"] for pod in pods(helm.render({"image": image}))}
    assert images == {name}


OFF: Values = {"rollCall": {"enabled": False}}


def test_the_defaults_are_those_of_the_operator(helm: Helm) -> None:
    alone = settings.Settings(lease=f"{NAMESPACE}/{NAME}")
    assert settings.from_environment(environment(helm, OFF)) == alone


def test_pods_report_to_the_service_that_is_there(helm: Helm) -> None:
    manifests = helm.render(DEFAULTS, "--skip-tests")
    (service,) = of_kind(manifests, "Service")
    metadata, (port,) = service["metadata"], service["spec"]["ports"]
    host = f"{metadata['name']}.{metadata['namespace']}.svc.cluster.local"
    chosen = settings.from_environment(environment(helm, DEFAULTS))
    assert chosen.report_url == f"http://{host}:{port['port']}/api/v1/reports"
    assert chosen.report_port == port["port"] == 8081
    (container,) = deployment(manifests)["spec"]["template"]["spec"]["containers"]
    assert port["targetPort"] in {it["name"] for it in container["ports"]}


def test_without_the_roll_call_nothing_listens(helm: Helm) -> None:
    values = {**OFF, "networkPolicy": {"enabled": True}}
    manifests = helm.render(values, "--skip-tests")
    assert not of_kind(manifests, "Service")
    (container,) = deployment(manifests)["spec"]["template"]["spec"]["containers"]
    (policy,) = of_kind(manifests, "NetworkPolicy")
    assert [it["name"] for it in container["ports"]] == ["http"]
    assert [it["ports"] for it in policy["spec"]["ingress"]] == [
        [{"protocol": "TCP", "port": "http"}]
    ]


def test_two_releases_of_one_name_have_roles_of_their_own(helm: Helm) -> None:
    places = ("one", "two")
    found = [
        helm.render(NAMESPACED, f"--namespace={place}", "--show-only=templates/rollcall.yaml")
        for place in places
    ]
    names = [role["metadata"]["name"] for it in found for role in of_kind(it, "ClusterRole")]
    assert len(set(names)) == len(places)


def test_every_setting_has_a_value(helm: Helm) -> None:
    chosen = settings.from_environment(environment(helm, {**EVERYTHING, **NAMESPACED}))
    assert chosen == settings.Settings(
        namespaces=("team-a", "team-b"),
        cluster_domain="example.internal",
        parallel_writes=8,
        resync_seconds=0.5,
        report_url="http://reports.example/api/v1/reports",
        report_port=9081,
        report_rate=50.5,
        api_tokens=True,
        notify=True,
        notify_http=True,
        notify_networks=("10.1.0.0/16", "fd00::/8"),
        lease=f"{NAMESPACE}/tj-operator",
        log_level="DEBUG",
        log_format="text",
    )
    names = {
        f"TRAININGJOBS_{field.name.upper()}" for field in dataclasses.fields(settings.Settings)
    }
    assert set(environment(helm, DEFAULTS)) == names


def test_kopf_knows_itself_where_the_user_has_no_name(helm: Helm) -> None:
    """On a uid without an entry in /etc/passwd, kopf would end at once."""
    (container,) = deployment(helm.render())["spec"]["template"]["spec"]["containers"]
    (own,) = [item for item in container["env"] if item["name"] == "POD_ID"]
    assert own["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_scheduling_values_reach_the_pod(helm: Helm) -> None:
    template = deployment(helm.render(EVERYTHING))["spec"]["template"]
    assert template["metadata"]["annotations"] == EVERYTHING["podAnnotations"]
    assert template["metadata"]["labels"].items() >= EVERYTHING["podLabels"].items()
    for name in (
        "imagePullSecrets",
        "priorityClassName",
        "nodeSelector",
        "tolerations",
        "affinity",
    ):
        assert template["spec"][name] == EVERYTHING[name]


def test_the_test_pod_may_pass_the_network_policy(helm: Helm) -> None:
    manifests = helm.render(EVERYTHING)
    (policy,) = of_kind(manifests, "NetworkPolicy")
    (pod,) = of_kind(manifests, "Pod")
    ingress, reports = policy["spec"]["ingress"]
    assert reports == {"ports": [{"protocol": "TCP", "port": "rollcall"}]}
    *given, test = ingress["from"]
    assert given == EVERYTHING["networkPolicy"]["from"]
    assert test["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_a_service_monitor_brings_its_service(helm: Helm) -> None:
    manifests = helm.render({"metrics": {"serviceMonitor": {"enabled": True}}}, "--skip-tests")
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    services = of_kind(manifests, "Service")
    # that of the roll call has no metrics
    (service,) = [it for it in services if wanted <= it["metadata"]["labels"].items()]
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


@every_values
def test_the_notes_tell_the_next_commands(helm: Helm, values: Values) -> None:
    place = f"--namespace={NAMESPACE}"
    result = helm.run("install", NAME, str(CHART), place, "--dry-run=client", values=values)
    assert result.returncode == 0, result.stderr
    notes = result.stdout.partition("NOTES:")[2]
    assert "get trainingjobs -w" in notes
    assert "kubectl tj why mnist -n " in notes
    assert "kubectl tj ui -n " in notes
    (job,) = [
        yaml.safe_load(part) for part in re.findall(r"<<EOF\n(.*?)\nEOF\n", notes, flags=re.DOTALL)
    ]
    assert job["spec"]["PARALLEL_INSTANCES"] == 3


def test_the_notes_name_no_page_that_nobody_serves(helm: Helm) -> None:
    off: Values = {"rollCall": {"enabled": False}}
    notes = helm.run("install", NAME, str(CHART), "--dry-run=client", values=off).stdout
    assert "kubectl tj why mnist" in notes
    assert "kubectl tj ui" not in notes


def test_one_version_for_all() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    versions = {chart["version"], chart["appVersion"], project["version"]}
    assert versions == {trainingjobs.__version__}
