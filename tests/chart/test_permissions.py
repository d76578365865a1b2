"""What the chart lets the operator, and its users, do: these verbs and no others."""

import pytest

from chart.rendering import ALL_VALUES, NAMESPACE, NAMESPACED, Helm, Values, of_kind, permissions
from trainingjobs.cluster.rbac import LEADING, READING, REVIEWS, RULES

pytestmark = pytest.mark.integration

JOBS = "trainingjob.dev"
OPERATOR = {(rule.group, rule.resource, verb) for rule in RULES for verb in rule.verbs}
READER = {(rule.group, rule.resource, verb) for rule in READING for verb in rule.verbs}
ASKING = {(rule.group, rule.resource, verb) for rule in REVIEWS for verb in rule.verbs}
LEAD = {(rule.group, rule.resource, verb) for rule in LEADING for verb in rule.verbs}
QUIET = {"rbac": {"aggregate": False}, "rollCall": {"enabled": False}}
CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding")


@pytest.mark.parametrize("values", ALL_VALUES.values(), ids=ALL_VALUES)
def test_nothing_is_a_wildcard(helm: Helm, values: Values) -> None:
    roles = of_kind(helm.render(values), "ClusterRole", "Role")
    assert roles
    assert not [rule for rule in permissions(roles) if any("*" in part for part in rule)]
    assert all(
        set(rule) - {"resourceNames"} == {"apiGroups", "resources", "verbs"}
        for role in roles
        for rule in role["rules"]
    )


def test_who_leads_is_settled_where_the_operator_runs(helm: Helm) -> None:
    manifests = helm.render({})
    (role,), (binding,) = of_kind(manifests, "Role"), of_kind(manifests, "RoleBinding")
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == NAMESPACE
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert permissions([role]) == LEAD
    quiet = permissions(of_kind(helm.render(QUIET), "Role"))
    assert quiet == {it for it in LEAD if it[1] == "leases"}


def test_the_operator_may_do_exactly_this_in_the_cluster(helm: Helm) -> None:
    manifests = helm.render(QUIET)
    (binding,) = of_kind(manifests, "ClusterRoleBinding")
    (account,) = of_kind(manifests, "ServiceAccount")
    (role,) = of_kind(manifests, "ClusterRole")
    assert permissions([role]) == OPERATOR
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": NAMESPACE}
    ]


def test_namespaced_mode_has_no_cluster_wide_permission(helm: Helm) -> None:
    assert not of_kind(helm.render({**NAMESPACED, **QUIET}), *CLUSTER_WIDE)


def test_nobody_has_to_let_the_page_read_logs_and_events(helm: Helm) -> None:
    values = {"rbac": {"aggregate": False}, "rollCall": {"records": False}}
    assert permissions(of_kind(helm.render(values), "ClusterRole")) == OPERATOR | ASKING


@pytest.mark.parametrize("values", [{"rbac": {"aggregate": False}}, NAMESPACED], ids=["all", "two"])
def test_the_roll_call_may_ask_who_somebody_is(helm: Helm, values: Values) -> None:
    manifests = helm.render(values, "--show-only=templates/rollcall.yaml")
    (role,) = of_kind(manifests, "ClusterRole")
    (binding,) = of_kind(manifests, "ClusterRoleBinding")
    assert permissions([role]) == ASKING
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["namespace"] == NAMESPACE
    everywhere = permissions(of_kind(helm.render(values), "ClusterRole"))
    assert everywhere == ASKING | (OPERATOR | READER if "namespaces" not in values else set())


def test_namespaced_mode_allows_the_same_in_each_namespace_alone(helm: Helm) -> None:
    manifests = helm.render(NAMESPACED)
    roles, bindings = (
        [it for it in of_kind(manifests, kind) if it["metadata"]["namespace"] != NAMESPACE]
        for kind in ("Role", "RoleBinding")
    )
    assert [role["metadata"]["namespace"] for role in roles] == NAMESPACED["namespaces"]
    assert [binding["metadata"]["namespace"] for binding in bindings] == NAMESPACED["namespaces"]
    assert all(permissions([role]) == OPERATOR | READER for role in roles)
    assert all(binding["roleRef"]["kind"] == "Role" for binding in bindings)
    assert all(binding["subjects"][0]["namespace"] == NAMESPACE for binding in bindings)


def test_users_get_what_their_own_roles_say(helm: Helm) -> None:
    roles = {
        role["metadata"]["name"].rpartition("-")[2]: role
        for role in of_kind(helm.render(), "ClusterRole")
    }
    to = "rbac.authorization.k8s.io/aggregate-to-"
    labels = {name: roles[name]["metadata"]["labels"] for name in ("edit", "view")}
    assert {label for label in labels["edit"] if label.startswith(to)} == {
        f"{to}admin",
        f"{to}edit",
    }
    assert {label for label in labels["view"] if label.startswith(to)} == {f"{to}view"}
    assert {verb for _, _, verb in permissions([roles["view"]])} == {"get", "list", "watch"}
    assert {group for group, _, _ in permissions([roles["edit"], roles["view"]])} == {JOBS}
    assert (JOBS, "trainingjobs/status", "patch") not in permissions([roles["edit"]])


def test_aggregation_can_be_turned_off(helm: Helm) -> None:
    roles = of_kind(helm.render(QUIET), "ClusterRole")
    assert len(roles) == 1


def test_a_given_account_is_bound_and_used(helm: Helm) -> None:
    account = {"create": False, "name": "mine"}
    manifests = helm.render({"serviceAccount": account})
    bindings = of_kind(manifests, "ClusterRoleBinding")
    (deployment,) = of_kind(manifests, "Deployment")
    assert {binding["subjects"][0]["name"] for binding in bindings} == {"mine"}
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "mine"
