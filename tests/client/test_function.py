"""Functions that are sent to all ranks of a job."""

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainingjobs.client import (
    AsyncTrainingJobClient,
    ClientError,
    Script,
    TrainingJobClient,
    distributed,
)
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


async def waits(epochs: int) -> int:
    return epochs


def yields(epochs: int) -> Any:
    yield epochs


def leans_by_default(epochs: int, scale: int = SCALE, *, other: Any = os.sep) -> Any:
    return epochs, scale, other


def leans_in_a_class(epochs: int) -> Any:
    class Model:
        scale = SCALE

        def run(self) -> int:
            return self.scale * epochs

    return Model


@distributed(image="x")
def has_a_class(epochs: int, sizes: Any = [size * 2 for size in range(2)]) -> None:  # noqa: B006
    """Classes, defaults and names of their own are no trouble."""
    import sys  # noqa: PLC0415

    class Model:
        scale: int = 2
        twice = scale * 2

        def run(self) -> int:
            return self.twice * epochs

    sys.stdout.write(f"{Model().run()} {sizes}")


@functools.wraps(leans)
def wrapped(epochs: int) -> int:
    return epochs


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


def test_classes_and_defaults_travel(tmp_path: Path) -> None:
    assert run(has_a_class.script(epochs=3).files[FILE], tmp_path) == "12 [0, 2]"


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
        (distributed(image="x")(leans_by_default), {"epochs": 1}, "uses SCALE, os from outside"),
        (distributed(image="x")(leans_in_a_class), {"epochs": 1}, "uses SCALE from outside"),
        (distributed(image="x")(waits), {"epochs": 1}, "waits cannot be sent: it is `async`"),
        (distributed(image="x")(yields), {"epochs": 1}, "it is a generator"),
        (distributed(image="x")(functools.partial(leans, 1)), {}, "it is a partial"),
        (distributed(image="x")(wrapped), {"epochs": 1}, "another decorator"),
        (train, {"epochs": 1, "words": {1: "a"}}, "words would arrive as something else"),
        (train, {"epochs": 1, "words": [{"a": (2,)}]}, "words would arrive as something else"),
    ],
    ids=[
        "too few",
        "no plain value",
        "leans on others",
        "a lambda",
        "no source",
        "leans by default",
        "leans in a class",
        "async",
        "a generator",
        "a partial",
        "wrapped",
        "a number as a key",
        "a tuple",
    ],
)
def test_what_cannot_be_sent(function: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ClientError, match=words):
        function.script(**arguments)


@distributed(instances=4)
def has_no_image(epochs: int) -> int:
    return epochs


def test_the_image_is_the_environments_when_it_is_submitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRAININGJOB_IMAGE", "my/own:2")
    assert has_no_image.script(epochs=1).image == "my/own:2"
    assert leans(2) == 6
    assert train.script(epochs=1).image == "my/image:1"


def test_without_any_image_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAININGJOB_IMAGE", raising=False)
    with pytest.raises(ClientError, match=r"@distributed\(image=…\), or \$TRAININGJOB_IMAGE"):
        has_no_image.script(epochs=1)


class Plain(TrainingJobClient):
    """Takes scripts, and has no cluster."""

    def __init__(self) -> None: ...

    def train(self, script: Script, name: str | None = None) -> str:
        """Tell what came."""
        return f"{name} with {script.image}"


class Asynchronous(AsyncTrainingJobClient):
    """The same, awaited."""

    def __init__(self) -> None: ...

    async def train(self, script: Script, name: str | None = None) -> str:
        """Tell what came."""
        return f"{name} with {script.image}"


async def test_both_clients_take_a_function() -> None:
    name: str = train.submit(Plain(), "mnist", epochs=1)
    awaited: str = await train.submit(Asynchronous(), "mnist", epochs=1)
    assert name == awaited == "mnist with my/image:1"
