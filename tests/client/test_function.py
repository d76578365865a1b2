"""Functions that are sent to all ranks of a job."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainingjobs.client import ClientError, distributed
from trainingjobs.client.function import FILE

SCALE = 3


@distributed(image="my/image:1", instances=4, gpus=1)
def train(epochs: int, words: Any = None) -> None:
    """Tell what it was called with."""
    import os  # noqa: PLC0415  a function brings its own
    import sys  # noqa: PLC0415

    sys.stdout.write(f"rank {os.environ['RANK']}: {epochs} {words}")


@distributed(image="x")
def leans(epochs: int) -> int:
    return epochs * SCALE


def run(text: str, folder: Path) -> str:
    (folder / FILE).write_text(text)
    env = {**os.environ, "RANK": "2"}
    command = [sys.executable, FILE]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=True
    ).stdout


def test_every_rank_calls_it_with_its_arguments(tmp_path: Path) -> None:
    made = train.script(epochs=2, words=["it's", '"quoted"', None])
    assert (made.instances, made.gpus, made.image) == (4, 1, "my/image:1")
    assert run(made.files[FILE], tmp_path) == """rank 2: 2 ["it's", '"quoted"', None]"""


def test_here_it_is_a_function_as_any_other() -> None:
    assert leans(2) == 6


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (train, {}, "missing a required argument: 'epochs'"),
        (train, {"epochs": object()}, "not JSON serializable"),
        (leans, {"epochs": 1}, "leans uses SCALE from outside of itself"),
        (distributed(image="x")(lambda: None), {}, "it is no plain function"),
        (distributed(image="x")(print), {}, "cannot be sent"),
    ],
    ids=["too few", "no plain value", "leans on others", "a lambda", "no source"],
)
def test_what_cannot_be_sent(function: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ClientError, match=words):
        function.script(**arguments)
