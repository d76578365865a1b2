"""The Python of the command line's page runs as it stands, against a fake cluster."""

import linecache
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.clients import a_state
from pages import blocks
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.job import Job
from trainingjobs.client.lines import LogLine
from trainingjobs.client.script import Script

PAGE = blocks.ROOT / "docs" / "cli.md"
BLOCKS = [text for language, text in blocks.blocks(PAGE.read_text()) if language == "python"]


class Cluster:
    """What every client of a block was asked, and the client that answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[Script] = []
        self.open = 0
        for name in ("__init__", "close", "train", "get_job_logs", "wait_for_job_status"):
            monkeypatch.setattr(AsyncTrainingJobClient, name, self._called(name))

    def _called(self, name: str) -> Any:
        own = getattr(self, name.strip("_"))

        def called(client: Any, *args: Any, **chosen: Any) -> Any:
            client.namespace = "lab"
            return own(*args, **chosen)

        return called

    def init(self, *, namespace: str | None, **_: object) -> None:
        """Open it."""
        assert namespace == "lab"
        self.open += 1

    async def close(self) -> None:
        """Nothing goes through it any more."""
        self.open -= 1

    async def train(self, script: Script, name: str | None = None) -> str:
        """Take it."""
        assert self.open == 1
        self.sent.append(script)
        return name or "train-1"

    async def get_job_logs(self, name: str, **chosen: Any) -> AsyncGenerator[LogLine, None]:
        """One line."""
        assert (self.open, name, chosen["follow"]) == (1, "train-1", True)
        yield LogLine(rank=0, attempt=1, pod="p", time="", text="hello")

    async def wait_for_job_status(self, name: str, *_: object, **__: object) -> Job:
        """It has succeeded."""
        assert self.open == 1
        assert name
        return a_state("Succeeded")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    found = Cluster(monkeypatch)
    yield found
    assert found.open == 0, "a block leaves its client open"


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs_as_it_stands(
    number: int,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    file = tmp_path / f"block{number}.py"
    file.write_text(BLOCKS[number])
    linecache.checkcache()
    exec(compile(BLOCKS[number], str(file), "exec"), {"__name__": "block"})  # noqa: S102
    assert "Succeeded" in capsys.readouterr().out
    (script,) = cluster.sent
    for name, text in script.files.items():
        compile(text, name, "exec")


def test_all_blocks_of_the_sdk_are_found() -> None:
    assert len(BLOCKS) == 3
