"""Whatever a spec says, the job comes to it or says why not; and how it got there does not show.

After Acto (SOSP 2023): states are reached from the schema, one field at a time, and the oracles
are the operator's own earlier answers.
"""

import asyncio
from collections.abc import Iterator

import pytest

from faults.bench import all_of, on_bench
from faults.changes import BASE, Change, edges, oddities, turns
from integration.jobs import Jobs
from integration.operators import operator
from integration.server import ApiServer
from trainingjobs.model.job import Invalid, parse

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

NAMESPACE = "fuzz"


def name(change: Change) -> str:
    return change.id


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All oddities are tried where there is time for them."""
    if metafunc.function is test_an_odd_template_is_made_or_the_status_says_why:
        metafunc.parametrize("change", _chosen(metafunc.config), ids=name)


@pytest.fixture(scope="module")
def jobs(apiserver: ApiServer) -> Iterator[Jobs]:
    jobs = Jobs(apiserver)
    yield jobs
    jobs.close()


@pytest.fixture(scope="module")
def served(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An operator in the namespace."""
    with operator(apiserver, NAMESPACE, tmp_path_factory.mktemp(NAMESPACE)):
        yield apiserver


@pytest.fixture(scope="module")
def turned(served: ApiServer) -> dict[Change, list[str]]:
    """What is wrong with each turn."""
    return asyncio.run(
        on_bench(served, NAMESPACE, lambda bench: all_of(turns(), bench.there_and_back))
    )


@pytest.fixture(scope="module")
def tried(served: ApiServer, request: pytest.FixtureRequest) -> dict[Change, list[str]]:
    """What is wrong with the answer to each oddity."""
    chosen = _chosen(request.config)
    return asyncio.run(on_bench(served, NAMESPACE, lambda bench: all_of(chosen, bench.odd)))


@pytest.mark.parametrize("change", edges(), ids=name)
def test_an_edge_is_refused_by_name_or_can_be_read(change: Change, jobs: Jobs) -> None:
    body = {
        "apiVersion": "trainingjob.dev/v1",
        "kind": "TrainingJob",
        "metadata": {"name": "edge"},
        "spec": change.spec(),
    }
    answer = jobs.try_create(body)
    if not answer.accepted:
        assert change.named in answer.message
        return
    read = parse(answer.body)
    assert not isinstance(read, Invalid), str(read)


@pytest.mark.parametrize("change", turns(), ids=name)
def test_a_turn_there_and_back_leaves_no_trace(
    change: Change, turned: dict[Change, list[str]]
) -> None:
    assert not turned[change]


@pytest.mark.faults
def test_an_odd_template_is_made_or_the_status_says_why(
    change: Change, tried: dict[Change, list[str]]
) -> None:
    assert not tried[change]


def test_the_base_is_good(jobs: Jobs) -> None:
    body = {
        "apiVersion": "trainingjob.dev/v1",
        "kind": "TrainingJob",
        "metadata": {"name": "base"},
        "spec": BASE,
    }
    assert jobs.try_create(body).accepted


def _chosen(config: pytest.Config) -> list[Change]:
    return oddities() if "faults" in config.getoption("markexpr") else oddities()[::20]
