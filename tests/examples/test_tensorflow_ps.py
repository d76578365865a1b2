"""Example 12 makes parameter servers of the last workers; nobody else is another than before."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from builders import DOMAIN, a_job
from trainingjobs import frameworks
from trainingjobs.frameworks.base import Place

SCRIPT = Path(__file__).parents[2] / "examples" / "12-tensorflow-ps" / "train.py"


def mapped(rank: int, size: int, servers: int) -> dict[str, Any]:
    """TF_CONFIG of a rank, as the script of the example makes it; without TensorFlow here."""
    tree = ast.parse(SCRIPT.read_text())
    tree.body = [item for item in tree.body if getattr(item, "name", "") == "with_servers"]
    scope: dict[str, Any] = {"json": json}
    exec(compile(tree, SCRIPT, "exec"), scope)  # noqa: S102  (one function of our own)
    place = Place(job=a_job(size, framework="TensorFlow"), rank=rank, domain=DOMAIN)
    told = scope["with_servers"](frameworks.environment(place)["TF_CONFIG"], servers)
    return json.loads(told)


@pytest.mark.parametrize(
    ("size", "servers", "tasks"),
    [
        (3, 1, [("chief", 0), ("worker", 0), ("ps", 0)]),
        (4, 1, [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0)]),
        (5, 2, [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]),
    ],
)
def test_the_last_workers_serve(size: int, servers: int, tasks: list[tuple[str, int]]) -> None:
    told = [mapped(rank, size, servers) for rank in range(size)]
    assert [(one["task"]["type"], one["task"]["index"]) for one in told] == tasks
    assert all(one["cluster"] == told[0]["cluster"] for one in told)
    own = [one["cluster"][one["task"]["type"]][one["task"]["index"]] for one in told]
    names = ["mnist-master", *(f"mnist-worker-{number}" for number in range(size - 1))]
    assert [address.partition(".")[0] for address in own] == names
    assert {*told[0]["cluster"]} == {"chief", "worker", "ps"}  # no evaluator, which all wait for
