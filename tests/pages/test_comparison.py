"""What the comparison says of others has a source of theirs, of the version that the page names."""

import re

import pytest

from pages import blocks

PAGE = (blocks.ROOT / "docs/comparison.md").read_text(encoding="utf-8")
OURS = "TrainingJob Operator"
NOTHING = "\N{EN DASH}"
THEIRS = re.compile(
    r"https://((pkg\.go\.dev/)?github\.com/"
    r"(kubeflow|kubernetes-sigs|volcano-sh|ray-project|headlamp-k8s"
    r"|meta-pytorch|intelligent-machine-learning|NVIDIA)"
    r"|(www|trainer)\.kubeflow\.org|(jobset|kueue)\.sigs\.k8s\.io|volcano\.sh|docs\.ray\.io)/"
)
"""Where peers keep what they say of themselves."""
VERSIONS = {
    "kubeflow/trainer": {
        "v2.3.0": "Kubeflow Trainer 2.3.0",
        "release-1.9": "Training Operator 1.9",
    },
    "kubernetes-sigs/jobset": {"v0.12.0": "JobSet 0.12.0"},
    "kubeflow/mpi-operator": {"v0.7.0": "MPI Operator 0.7.0"},
}


def tables() -> list[list[list[str]]]:
    """The cells of each row of each table, the heads among them."""
    found = re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)
    return [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
        for table in found
    ]


def links(text: str) -> list[str]:
    return re.findall(r"\]\((https://[^)]+)\)", text)


def claims() -> list[tuple[str, str]]:
    """What is said of a peer, cell by cell, with the place where it is said."""
    kinds, met = tables()
    of_kinds = [
        (f"{row[0]}: {head}", cell)
        for row in kinds[2:]
        if OURS not in row[0]
        for head, cell in zip(kinds[0][1:], row[1:], strict=True)
    ]
    of_met = [
        (f"{row[0]}: {head}", cell)
        for row in met[2:]
        for head, cell in zip(met[0][1:], row[1:], strict=True)
        if head != OURS
    ]
    return of_kinds + of_met


PEERS = re.findall(r"^- \*\*(.+?)\*\*((?:.*\n)(?:  .*\n)*)", PAGE, re.MULTILINE)


def test_all_is_looked_at() -> None:
    assert len(claims()) > 60
    assert len(PEERS) > 8


@pytest.mark.parametrize(("where", "said"), [*claims(), *PEERS])
def test_a_claim_has_a_source_of_theirs(where: str, said: str) -> None:
    assert said == NOTHING or links(said), f"{where}: {said}"
    assert [link for link in links(said) if not THEIRS.match(link)] == []


@pytest.mark.parametrize("link", sorted(set(links(PAGE))))
def test_code_is_of_the_version_that_is_named(link: str) -> None:
    """Of a branch that goes on, tomorrow's reader sees something else."""
    code = re.match(r"https://github\.com/([\w-]+/[\w-]+)/(?:blob|tree)/([^/]+)/", link)
    if code and code[1] in VERSIONS:
        assert VERSIONS[code[1]][code[2]] in PAGE, link
