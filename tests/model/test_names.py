"""Names: legal for every job name there is, and different for different jobs.

The hashes in the table are pinned: an operator that named pods otherwise after an upgrade
would make a second group beside the one that runs.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainingjobs.model import names

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
JOB_NAMES = st.from_regex(
    r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}", fullmatch=True
).filter(lambda name: len(name) <= 253)


@given(JOB_NAMES, st.integers(min_value=0, max_value=9_999))
def test_every_name_is_a_dns_label(job: str, rank: int) -> None:
    assert DNS_LABEL.fullmatch(names.service(job))
    assert DNS_LABEL.fullmatch(names.pod(job, rank))


@given(JOB_NAMES, JOB_NAMES)
def test_different_jobs_have_different_names(one: str, other: str) -> None:
    assert (names.base(one) == names.base(other)) == (one == other)


@pytest.mark.parametrize(
    ("job", "base"),
    [
        pytest.param("mnist", "mnist", id="an ordinary name stays"),
        pytest.param("a" * 51, "a" * 51, id="the longest that fits stays"),
        pytest.param("a" * 52, "a" * 42 + "-6c1b3dc7", id="one more gets a hash"),
        pytest.param("my.job", "my-job-bc373230", id="dots"),
        pytest.param("1job", "j-1job-3792dbeb", id="a leading digit"),
    ],
)
def test_what_becomes_of_a_name(job: str, base: str) -> None:
    assert names.base(job) == base


def test_master_and_workers_are_numbered_apart() -> None:
    assert [names.pod("mnist", rank) for rank in range(3)] == [
        "mnist-master",
        "mnist-worker-0",
        "mnist-worker-1",
    ]


def test_an_address_is_fully_qualified() -> None:
    expected = "mnist-master.mnist.lab.svc.cluster.local"
    assert names.address("mnist", "lab", 0, "cluster.local") == expected
