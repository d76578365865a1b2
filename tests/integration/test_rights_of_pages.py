"""The rights that pages tell people to give, given as they stand there.

A real API server takes the lines of docs/dashboard.md, docs/notify.md and docs/howto/restricted.md,
and is then asked what they open and what they do not.
No controller runs beside it, so what the cluster's own one makes of `view` is done by hand here.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest
import yaml

from chart import rendering
from integration.server import ApiServer
from pages import blocks
from trainingjobs.model import labels

pytestmark = pytest.mark.integration

DOCS = blocks.ROOT / "docs"
HOME, LAB, OTHER = "trainingjob-system", "lab", "no-lab"


def lines(page: str, verb: str) -> list[tuple[str, ...]]:
    """Each `kubectl VERB …` of a page, without the program."""
    shown = blocks.commands(DOCS / page)
    return [it.words[1:] for it in shown if it.words[0] == "kubectl" and verb in it.words]


GIVING = lines("dashboard.md", "create")
OF_SOME_NAMESPACES = [it for it in GIVING if it[:5] == ("-n", LAB, "create", "role", "viewer")]
FOR_VIEW = "rbac.authorization.k8s.io/aggregate-to-view=true"
AUDIENCE = "trainingjob.dev/status"


@dataclass(frozen=True)
class Somebody:
    """Who is asked about."""

    name: str
    groups: tuple[str, ...] = field(default=("system:authenticated",))


MEMBER = Somebody("a-member", ("TEAM", "system:authenticated"))
VIEWER = Somebody(f"system:serviceaccount:{LAB}:viewer")
OPERATOR = Somebody(f"system:serviceaccount:{HOME}:trainingjob-operator")

Question = tuple[str, str, str]
"""Verb, resource with its part, name."""

OF_THE_VIEWER: set[Question] = {
    ("get", "trainingjobs", ""),
    ("list", "trainingjobs", ""),
    ("get", "pods/log", ""),
    ("list", "events", ""),
}
FIND_AND_REACH: set[Question] = {("list", "pods", ""), ("create", "pods/portforward", "")}
MAKE_THE_TOKEN: set[Question] = {("create", "serviceaccounts/token", "viewer")}
NOBODYS: set[Question] = {
    ("create", "serviceaccounts/token", "default"),
    ("create", "serviceaccounts/token", "trainingjob-operator"),
    ("create", "pods/exec", ""),
    ("create", "pods", ""),
    ("delete", "pods", ""),
    ("get", "secrets", ""),
    ("create", "trainingjobs", ""),
    ("delete", "trainingjobs", ""),
    ("patch", "trainingjobs/status", ""),
}
QUESTIONS = sorted(OF_THE_VIEWER | FIND_AND_REACH | MAKE_THE_TOKEN | NOBODYS)


def allowed(
    server: ApiServer, who: Somebody, namespace: str, questions: Sequence[Question] = QUESTIONS
) -> set[Question]:
    """Those of the questions to which the API server says yes."""
    reviews = yaml.safe_dump_all([a_review(who, namespace, it) for it in questions])
    said = server.kubectl("create", "-f-", '-o=jsonpath={.status.allowed}{"\\n"}', input=reviews)
    assert said.returncode == 0, said.stderr
    answers = zip(questions, said.stdout.split(), strict=True)
    return {question for question, answer in answers if answer == "true"}


def a_review(who: Somebody, namespace: str, question: Question) -> dict[str, object]:
    verb, what, name = question
    resource, _, part = what.partition("/")
    group = labels.API_VERSION.partition("/")[0] if resource == "trainingjobs" else ""
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": part}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": who.name,
            "groups": list(who.groups),
            "resourceAttributes": {**asked, "name": name, "namespace": namespace},
        },
    }


def done(server: ApiServer, lines: Iterable[tuple[str, ...]]) -> None:
    for line in lines:
        said = server.kubectl(*line)
        assert said.returncode == 0, f"kubectl {' '.join(line)}: {said.stderr}"


def aggregate_view(server: ApiServer) -> None:
    """What the cluster's controller does: `view` gets the rules of all roles with its label."""
    found = server.kubectl("get", "clusterroles", f"-l={FOR_VIEW}", "-ojson")
    rules = [rule for role in json.loads(found.stdout)["items"] for rule in role["rules"]]
    patch = json.dumps({"rules": rules})
    done(server, [("patch", "clusterrole", "view", "--type=merge", "-p", patch)])


@pytest.fixture(scope="module")
def given(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """A cluster with the chart's role for `view`, in which the page's first lines were run."""
    for namespace in (HOME, LAB, OTHER):
        apiserver.kubectl("create", "namespace", namespace)
    helm = rendering.helm(tmp_path_factory.mktemp("helm"))
    roles = rendering.of_kind(helm.render(release="viewed"), "ClusterRole")
    made = apiserver.kubectl("apply", "-f-", input=yaml.safe_dump_all(roles))
    assert made.returncode == 0, made.stderr
    aggregate_view(apiserver)
    first = GIVING[: GIVING.index(OF_SOME_NAMESPACES[0])]
    done(apiserver, first)
    return apiserver


def test_the_page_has_the_lines() -> None:
    assert [it[2:5] for it in GIVING] == [
        ("create", "role", "trainingjob-find"),
        ("create", "role", "trainingjob-reach"),
        ("create", "rolebinding", "trainingjob-find"),
        ("create", "rolebinding", "trainingjob-reach"),
        ("create", "serviceaccount", "viewer"),
        ("create", "rolebinding", "viewer"),
        ("create", "role", "viewer-token"),
        ("create", "rolebinding", "viewer-token"),
        ("create", "role", "viewer"),
        ("create", "rolebinding", "viewer"),
    ]


@pytest.mark.parametrize(
    ("namespace", "may"), [(HOME, FIND_AND_REACH), (LAB, MAKE_THE_TOKEN), (OTHER, set())]
)
def test_the_team_finds_reaches_and_makes_the_token(
    given: ApiServer, namespace: str, may: set[Question]
) -> None:
    assert allowed(given, MEMBER, namespace) == may


def test_the_token_that_a_member_makes_is_the_viewers(given: ApiServer) -> None:
    whose = ("--as=a-member", "--as-group=TEAM", "--as-group=system:authenticated")
    words = ("create", "token", "viewer", "-n", LAB, f"--audience={AUDIENCE}", *whose)
    token = given.kubectl(*words)
    assert token.returncode == 0, token.stderr
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token.stdout.strip(), "audiences": [AUDIENCE]},
    }
    said = given.kubectl("create", "-f-", "-ojson", input=json.dumps(review))
    assert json.loads(said.stdout)["status"]["user"]["username"] == VIEWER.name
    stranger = given.kubectl(*words[:-3], "--as=a-stranger")
    assert "cannot create resource" in stranger.stderr


@pytest.mark.parametrize("namespace", [HOME, OTHER, ""])
def test_the_viewer_sees_nothing_elsewhere(given: ApiServer, namespace: str) -> None:
    assert allowed(given, VIEWER, namespace) == set()


def test_the_viewer_sees_jobs_logs_and_events(given: ApiServer) -> None:
    """Of `view` he has `list pods` as well, which the page does not need."""
    assert allowed(given, VIEWER, LAB) - {("list", "pods", "")} == OF_THE_VIEWER


def test_where_view_says_nothing_of_jobs_a_role_does(given: ApiServer) -> None:
    """As with an operator of some namespaces: the chart makes no roles for `view` then."""
    done(given, [("delete", "rolebinding", "viewer", "-n", LAB)])
    assert allowed(given, VIEWER, LAB) == set()
    done(given, GIVING[GIVING.index(OF_SOME_NAMESPACES[0]) :])
    assert allowed(given, VIEWER, LAB) == OF_THE_VIEWER


def test_the_operator_may_get_the_secret_of_a_notification_and_no_other(given: ApiServer) -> None:
    questions = [(verb, "secrets", name) for verb in ("get", "list") for name in ("team-hook", "")]
    assert allowed(given, OPERATOR, LAB, questions) == set()
    making = lines("notify.md", "create")
    assert [it[3] for it in making] == ["secret", "role", "rolebinding"]
    done(given, making)
    assert allowed(given, OPERATOR, LAB, questions) == {("get", "secrets", "team-hook")}
    assert allowed(given, OPERATOR, OTHER, questions) == set()


def test_a_namespace_that_is_labelled_is_restricted(given: ApiServer) -> None:
    some_pod = ("run", "some", "--image=some", "-n", LAB, "--dry-run=server")
    done(given, [some_pod])
    done(given, lines("howto/restricted.md", "label"))
    assert 'violates PodSecurity "restricted' in given.kubectl(*some_pod).stderr
