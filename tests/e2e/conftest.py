"""The cluster, the operator in it, and a namespace for each test."""

from collections.abc import Generator, Iterator

import pytest

from e2e import deployed, harness, lessons

_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def cluster() -> harness.Cluster:
    """The cluster that the tests are for; without one they fail, as they would prove nothing."""
    try:
        return harness.find()
    except LookupError as problem:
        pytest.fail(str(problem))


@pytest.fixture(scope="session")
def operator(cluster: harness.Cluster) -> deployed.Operator:
    """The operator, ready."""
    try:
        found = deployed.find(cluster)
    except LookupError as problem:
        pytest.fail(str(problem))
    found.wait_until_ready()
    return found


@pytest.fixture
def lab(
    request: pytest.FixtureRequest, cluster: harness.Cluster, operator: deployed.Operator
) -> Iterator[harness.Namespace]:
    """A namespace of the test's own; what it looked like is printed when the test fails."""
    namespace = cluster.new_namespace(request.node.name)
    yield namespace
    if request.node.stash.get(_FAILED, True):
        print(deployed.diagnosis(namespace, operator))  # noqa: T201 - pytest shows it
    cluster.kubectl("delete", "namespace", namespace.name, "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="session")
def alone(cluster: harness.Cluster, operator: deployed.Operator) -> lessons.Report:
    """The report of one process with the same global batch: what all others must reach."""
    del operator
    lab = cluster.new_namespace("alone")
    job = lessons.example("01-ddp")
    job["spec"]["PARALLEL_INSTANCES"] = 1
    (report,) = lessons.trained(lab, job)
    cluster.kubectl("delete", "namespace", lab.name, "--wait=false")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the test itself failed, for the fixture that comes after it."""
    report = yield
    if call.when == "call":
        item.stash[_FAILED] = report.failed
    return report
