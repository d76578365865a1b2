"""What the chart's roles allow on a real API server, and that they allow nothing else.

Two releases stand side by side, one for the whole cluster and one for two namespaces, so that
each is also the proof that the other one's permissions do not reach it.
"""

import json
from collections.abc import Sequence
from itertools import product

import pytest
import yaml

from chart import rendering
from integration.server import ApiServer
from trainingjobs.cluster.rbac import LEADING, READING, REVIEWS, RULES

pytestmark = pytest.mark.integration

Permission = tuple[str, str, str]

ASKING = {(rule.group, rule.resource, verb) for rule in REVIEWS for verb in rule.verbs}
"""What neither mode can do without; it has no namespace."""
OPERATOR = {
    (it.group, it.resource, verb) for it in (*RULES, *READING) for verb in it.verbs
} | ASKING
LEADER = {(it.group, it.resource, verb) for it in LEADING for verb in it.verbs}
SERVED = ("served-a", "served-b")
OTHER = "not-served"
EVERYWHERE = ""
RBAC = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")

POD_GROUPS = ("scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.k8s.io")
VERBS = (
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    *("impersonate", "bind", "escalate", "use", "*"),
)
RESOURCES = (
    *(("trainingjob.dev", f"trainingjobs{part}") for part in ("", "/status", "/scale")),
    *(("trainingjob.dev", name) for name in ("trainingjobs/finalizers", "*")),
    *(("", f"pods{part}") for part in ("", "/status", "/exec", "/attach", "/log", "/eviction")),
    *(("", f"pods/{part}") for part in ("portforward", "binding", "ephemeralcontainers")),
    *(("", name) for name in ("services", "services/status", "services/proxy", "events")),
    *(("", name) for name in ("secrets", "configmaps", "serviceaccounts", "nodes")),
    *(("", name) for name in ("serviceaccounts/token", "namespaces", "endpoints", "users", "*")),
    *(("", name) for name in ("persistentvolumes", "persistentvolumeclaims", "groups")),
    ("events.k8s.io", "events"),
    ("apps", "deployments"),
    ("batch", "jobs"),
    *((group, "podgroups") for group in POD_GROUPS),
    *((group, "podgroups/status") for group in POD_GROUPS),
    ("scheduling.k8s.io", "workloads"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("coordination.k8s.io", "leases"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    *(("rbac.authorization.k8s.io", f"{scope}roles") for scope in ("", "cluster")),
    *(("rbac.authorization.k8s.io", f"{scope}rolebindings") for scope in ("", "cluster")),
    ("authentication.k8s.io", "tokenreviews"),
    *(("authorization.k8s.io", f"{whose}accessreviews") for whose in ("subject", "localsubject")),
    ("*", "*"),
)
QUESTIONS = [(group, name, verb) for (group, name), verb in product(RESOURCES, VERBS)]


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> rendering.Helm:
    return rendering.helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def cluster_wide(apiserver: ApiServer, helm: rendering.Helm) -> str:
    """The account of an operator that serves all namespaces."""
    return installed(apiserver, helm.render(release="everywhere"))


@pytest.fixture(scope="module")
def namespaced(apiserver: ApiServer, helm: rendering.Helm) -> str:
    """The account of an operator that serves two namespaces."""
    for namespace in SERVED:
        apiserver.kubectl("create", "namespace", namespace)
    return installed(apiserver, helm.render({"namespaces": list(SERVED)}, release="here"))


def installed(apiserver: ApiServer, manifests: list[rendering.Manifest]) -> str:
    """The user name of the account that the rendered roles, now in the server, are for."""
    apiserver.kubectl("create", "namespace", rendering.NAMESPACE)
    roles = yaml.safe_dump_all(rendering.of_kind(manifests, *RBAC))
    applied = apiserver.kubectl("apply", "--validate=strict", "-f", "-", input=roles)
    assert applied.returncode == 0, applied.stderr
    (account,) = rendering.of_kind(manifests, "ServiceAccount")
    return f"system:serviceaccount:{rendering.NAMESPACE}:{account['metadata']['name']}"


def granted(apiserver: ApiServer, account: str, namespace: str) -> set[Permission]:
    """All that the server's own list of rules gives this account more than any other account."""
    nobody = "system:serviceaccount:default:nobody"
    return rules(apiserver, account, namespace) - rules(apiserver, nobody, namespace)


def rules(apiserver: ApiServer, account: str, namespace: str) -> set[Permission]:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    made = apiserver.kubectl(
        "create", "--validate=false", f"--as={account}", "-f-", "-ojson", input=json.dumps(review)
    )
    assert made.returncode == 0, made.stderr
    status = json.loads(made.stdout)["status"]
    assert not status["incomplete"]
    urls = {
        ("url", url, verb)
        for rule in status["nonResourceRules"]
        for url in rule["nonResourceURLs"]
        for verb in rule["verbs"]
    }
    return urls | rendering.permissions([{"rules": status["resourceRules"]}])


def allowed(
    apiserver: ApiServer, account: str, namespace: str, questions: Sequence[Permission]
) -> set[Permission]:
    """Those of the questions that `kubectl auth can-i` says yes to, all asked in one call."""
    reviews = [
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": account,
                "groups": ["system:serviceaccounts", "system:authenticated"],
                "resourceAttributes": {
                    "group": group,
                    "resource": resource.partition("/")[0],
                    "subresource": resource.partition("/")[2],
                    "verb": verb,
                    "namespace": namespace,
                },
            },
        }
        for group, resource, verb in questions
    ]
    answers = apiserver.kubectl(
        "create",
        "-f",
        "-",
        '-o=jsonpath={.status.allowed}{"\\n"}',
        input=yaml.safe_dump_all(reviews),
    )
    assert answers.returncode == 0, answers.stderr
    yes = [answer == "true" for answer in answers.stdout.split()]
    return {question for question, said in zip(questions, yes, strict=True) if said}


@pytest.mark.parametrize("namespace", [*SERVED, OTHER])
def test_the_operator_of_a_cluster_is_granted_its_rules(
    apiserver: ApiServer, cluster_wide: str, namespace: str
) -> None:
    assert granted(apiserver, cluster_wide, namespace) == OPERATOR


@pytest.mark.parametrize(
    ("namespace", "rules"),
    [
        *((served, OPERATOR) for served in SERVED),
        (OTHER, ASKING),
        (rendering.NAMESPACE, ASKING | LEADER),
    ],
    ids=[*SERVED, OTHER, "its own"],
)
def test_the_operator_of_namespaces_is_granted_its_rules_in_these(
    apiserver: ApiServer, namespaced: str, namespace: str, rules: set[Permission]
) -> None:
    assert granted(apiserver, namespaced, namespace) == rules


@pytest.mark.parametrize(
    "namespace", [EVERYWHERE, SERVED[0], OTHER], ids=["all", *SERVED[:1], OTHER]
)
def test_the_operator_of_a_cluster_may_do_nothing_else(
    apiserver: ApiServer, cluster_wide: str, namespace: str
) -> None:
    assert allowed(apiserver, cluster_wide, namespace, QUESTIONS) == OPERATOR


@pytest.mark.parametrize(
    ("namespace", "may"),
    [(EVERYWHERE, ASKING), (SERVED[0], OPERATOR), (SERVED[1], OPERATOR), (OTHER, ASKING)],
    ids=["all", *SERVED, OTHER],
)
def test_the_operator_of_namespaces_may_do_nothing_else(
    apiserver: ApiServer, namespaced: str, namespace: str, may: set[Permission]
) -> None:
    assert allowed(apiserver, namespaced, namespace, QUESTIONS) == may


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (("list", "trainingjobs.trainingjob.dev", "--all-namespaces"), "yes"),
        (("create", "pods", "--all-namespaces"), "yes"),
        (("patch", "trainingjobs.trainingjob.dev", "--subresource=status"), "yes"),
        (("patch", "trainingjobs.trainingjob.dev"), "no"),
        (("create", "pods", "--subresource=exec"), "no"),
        (("get", "secrets", "--all-namespaces"), "no"),
        (("list", "nodes"), "no"),
        (("*", "*", "--all-namespaces"), "no"),
        (("get", "/metrics"), "no"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, tuple) else case,
)
def test_kubectl_says_the_same(
    apiserver: ApiServer, cluster_wide: str, question: tuple[str, ...], answer: str
) -> None:
    said = apiserver.kubectl("auth", "can-i", *question, f"--as={cluster_wide}")
    assert said.stdout.strip() == answer, said.stderr


@pytest.mark.parametrize(
    ("role", "verbs"),
    [
        ("edit", set(VERBS[:8])),
        ("view", {"get", "list", "watch"}),
    ],
)
def test_users_may_use_jobs_as_their_role_says(
    apiserver: ApiServer, cluster_wide: str, role: str, verbs: set[str]
) -> None:
    """Whoever has the role; that admin, edit and view get it is the cluster's own controller."""
    name = cluster_wide.rpartition(":")[2]
    user = f"system:serviceaccount:{OTHER}:{role}"
    apiserver.kubectl("create", "namespace", OTHER)
    binding = ("create", "rolebinding", f"users-{role}", f"--clusterrole={name}-{role}")
    bound = apiserver.kubectl(*binding, f"--serviceaccount={OTHER}:{role}", f"--namespace={OTHER}")
    assert bound.returncode == 0, bound.stderr
    may = allowed(apiserver, user, OTHER, QUESTIONS)
    assert {verb for _, resource, verb in may if resource == "trainingjobs"} == verbs
    assert {group for group, _, _ in may} == {"trainingjob.dev"}
    assert {verb for _, resource, verb in may if resource == "trainingjobs/status"} == {"get"}
    assert not allowed(apiserver, user, SERVED[0], QUESTIONS)
