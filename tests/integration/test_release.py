"""The life of a release on a real API server: what each step makes, changes and leaves.

The server is one of its own, because the shared one has the resource already, and Helm takes
nothing over that it did not make. No controllers run in it, so no pod starts here.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chart import rendering
from chart.rendering import CHART, NAME, NAMESPACE, NAMESPACED, Helm, Values
from integration import definitions
from integration.kubelet import kubelet
from integration.reader import Reader
from integration.server import ApiServer, api_server
from pages import blocks, proof

pytestmark = pytest.mark.integration

DEFINITION = "crd/trainingjobs.trainingjob.dev"
JOB = {
    "apiVersion": "trainingjob.dev/v1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist", "namespace": "default"},
    "spec": {
        "PARALLEL_INSTANCES": 3,
        "template": {"spec": {"containers": [{"name": "trainer", "image": "my/trainer:1"}]}},
    },
}

OPTIONS = {
    "metrics": {"service": {"enabled": True}},
    "networkPolicy": {"enabled": True},
    "replicaCount": 1,
    "podLabels": {"more": "labels"},
    "operator": {"logLevel": "DEBUG"},
}
TAKING_OVER = ("--take-ownership", "--reset-values")


@dataclass(frozen=True, slots=True)
class Release:
    """Helm and kubectl, both at the same server."""

    helm: Helm
    server: ApiServer

    def do(self, *args: str, values: Values | None = None) -> str:
        """Helm's answer to what must succeed."""
        done = self.attempt(*args, values=values)
        assert done[0] == 0, done[1]
        return done[1]

    def attempt(self, *args: str, values: Values | None = None) -> tuple[int, str]:
        """Helm's exit status, and all that it said."""
        place = (f"--namespace={NAMESPACE}", f"--kubeconfig={self.server.kubeconfig}")
        done = self.helm.run(*args, *place, values=values)
        return done.returncode, done.stdout + done.stderr

    def uid(self, thing: str) -> str:
        """Who this object is; the same after an upgrade, nothing when it is not there."""
        flags = (f"--namespace={NAMESPACE}", "--ignore-not-found", "-o=jsonpath={.metadata.uid}")
        return self.server.kubectl("get", thing, *flags).stdout

    def jobs(self) -> list[str]:
        """The uids of all TrainingJobs."""
        answer = self.server.kubectl(
            "get", "trainingjobs", "-A", "-o=jsonpath={.items[*].metadata.uid}"
        )
        return answer.stdout.split()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """A server that knows nothing of us but the namespaces, which Helm does not make."""
    helm = rendering.helm(tmp_path_factory.mktemp("helm"))
    with api_server(tmp_path_factory.mktemp("release")) as server:
        for namespace in NAMESPACED["namespaces"]:
            server.kubectl("create", "namespace", namespace)
        yield Release(helm, server)


@pytest.fixture
def release(empty: Release) -> Release:
    """The chart with its defaults, and a job."""
    empty.do("upgrade", "--install", NAME, str(CHART), "--create-namespace", *TAKING_OVER)
    for _ in range(100):  # until the server serves what it was just told of
        made = empty.server.kubectl("apply", "-f", "-", input=json.dumps(JOB))
        if made.returncode == 0:
            break
        time.sleep(0.1)
    assert made.returncode == 0, made.stderr
    assert len(empty.jobs()) == 1
    return empty


def test_an_upgrade_changes_the_objects_and_makes_none_anew(release: Release) -> None:
    before = release.uid(f"deployment/{NAME}")
    assert before
    release.do("upgrade", NAME, str(CHART), values=OPTIONS)
    assert release.uid(f"deployment/{NAME}") == before
    assert all(release.uid(f"{kind}/{NAME}") for kind in ("networkpolicy", "service"))
    release.do("upgrade", NAME, str(CHART), "--reset-values")
    assert release.uid(f"deployment/{NAME}") == before
    assert not any(release.uid(f"{kind}/{NAME}") for kind in ("networkpolicy", "service"))


def test_serving_some_namespaces_takes_the_cluster_wide_permissions_away(release: Release) -> None:
    names = (NAME, f"{NAME}-edit", f"{NAME}-view")
    assert all(release.uid(f"clusterrole/{name}") for name in names)
    release.do("upgrade", NAME, str(CHART), values=NAMESPACED)
    assert not any(release.uid(f"clusterrole/{name}") for name in names)
    assert not release.uid(f"clusterrolebinding/{NAME}")
    for namespace in NAMESPACED["namespaces"]:
        found = release.server.kubectl("get", f"rolebinding/{NAME}", f"--namespace={namespace}")
        assert found.returncode == 0, found.stderr


def test_jobs_outlive_an_uninstall_and_the_next_install(release: Release) -> None:
    kept = (release.uid(DEFINITION), release.jobs())
    release.do("uninstall", NAME)
    assert not release.uid(f"deployment/{NAME}")
    assert not release.uid(f"serviceaccount/{NAME}")
    assert not release.uid(f"clusterrole/{NAME}")
    assert (release.uid(DEFINITION), release.jobs()) == kept
    release.do("install", NAME, str(CHART))
    assert (release.uid(DEFINITION), release.jobs()) == kept


def test_another_release_takes_the_resource_over_only_when_told(release: Release) -> None:
    kept = (release.uid(DEFINITION), release.jobs())
    release.do("uninstall", NAME)
    status, said = release.attempt("install", "other", str(CHART))
    assert status != 0
    assert "cannot be imported into the current release" in said
    release.do("install", "other", str(CHART), "--take-ownership")
    release.do("uninstall", "other")
    assert (release.uid(DEFINITION), release.jobs()) == kept


PAGES = (
    "docs/operating.md",
    "docs/install.md",
    "docs/howto/istio.md",
    "docs/metrics.md",
    "docs/notify.md",
    "docs/howto/registries.md",
    "docs/howto/airgapped.md",
    "charts/trainingjob-operator/README.md",
)
"""In an order in which their lines follow one another; each line once."""
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": NAME, "namespace": NAMESPACE},
}


def test_the_lines_of_the_pages_do_what_they_say(release: Release, tmp_path: Path) -> None:
    server, pages = release.server, [blocks.ROOT / page for page in PAGES]
    reader = Reader(server, "default", tmp_path, programs=[release.helm.program.parent])
    reader.fills(**{"DIGEST": "0" * 64, "NEW-TAG": "1.0"})
    (reader.folder / "egress.yaml").write_text(egress())
    what_the_pages_take_for_granted(server)
    lines = each_once([line for page in pages for line in proof.to_type(page)])
    (away,) = [line for line in lines if line.startswith("helm uninstall")]
    (gone,) = [line for line in lines if "delete crd" in line]
    for line in lines:
        if line.startswith("helm install"):
            reader.types(away)
        if line.startswith("helm test"):
            with kubelet(server, NAMESPACE):
                reader.types(line)
        elif line not in {away, gone}:
            reader.types(line)
        if "NEW-TAG" in line:  # there is something to go back to
            for command in proof.said(proof.RELEASE_TEST):
                reader.types(str(command))
    assert release.uid(f"deployment/{NAME}")
    reader.types(away)
    assert len(release.jobs()) == 1
    reader.types(gone)
    assert not release.uid(DEFINITION)
    for page in pages:
        reader.has_typed(page)
    first = blocks.commands(blocks.ROOT / "README.md")
    assert {str(it) for it in first if "helm" in it.words} <= reader.typed


def what_the_pages_take_for_granted(server: ApiServer) -> None:
    for kind in ("ServiceMonitor", "PrometheusRule"):
        definitions.define(server, "monitoring.coreos.com", kind)
    server.kubectl("create", "serviceaccount", "default")
    server.kubectl("create", "-f-", input=json.dumps(LEASE))


def each_once(lines: list[str]) -> list[str]:
    """Lines that differ in more than their blanks."""
    return list({str([*blocks.parsed("", line)]): line for line in lines}.values())


def egress() -> str:
    """The file that docs/notify.md shows."""
    page = (blocks.ROOT / "docs/notify.md").read_text()
    (text,) = [body for _, body in blocks.blocks(page) if body.startswith("networkPolicy:")]
    return text
