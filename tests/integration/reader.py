"""Who types what a page shows, as it stands there, into a real shell."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import yaml

from integration.server import ApiServer
from pages import blocks, checkout, proof

Given = TypeVar("Given")
Found = TypeVar("Found")
HARMLESS = {"kubectl", "trainingjob", "helm", "python", "curl", "cat", "hostname", "tail", "echo",
            "export", "source"}  # fmt: skip
"""A page's `make images` would be meant as well: what is not here is not typed."""
HANDS = 8
"""Lines that are typed at the same time, where none waits for another."""


class Reader:
    """Stands in a folder like the checkout, and has a kubeconfig with a namespace in it."""

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        folder: Path,
        *,
        programs: Sequence[Path] = (),
        **settings: str,
    ) -> None:
        self.namespace, self.folder = namespace, checkout.lay(folder / "checkout")
        home, self._filled = folder / "home", dict[str, str]()
        home.mkdir()
        config = yaml.safe_load(server.kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = namespace
        (home / "kubeconfig").write_text(yaml.safe_dump(config))
        first = (server.programs, Path(sys.executable).parent, *programs)
        self._environment = {
            "PATH": os.pathsep.join((*map(str, first), os.environ["PATH"])),
            "HOME": str(home),
            "KUBECONFIG": str(home / "kubeconfig"),
            **settings,
        }
        self.typed: set[str] = set()

    def fills(self, **words: str) -> None:
        """What is in capitals on the pages means this."""
        self._filled = words

    def types(self, line: str, text: str = "", code: int = 0) -> str:
        """What is said to a line, which ends with this code."""
        self._notes(line)
        done = subprocess.run(
            ["bash", "-c", self._written(line)],
            cwd=self.folder,
            env=self._environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said = f"{done.stdout}{done.stderr}"
        assert done.returncode == code, f"{line}: ended with {done.returncode}: {said}"
        return said

    @contextmanager
    def begins(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """A line that goes on until somebody leaves it with Ctrl-C, which is no error."""
        self._notes(line)
        with subprocess.Popen(
            ["bash", "-c", f"exec {self._written(line)}"],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as going:
            try:
                yield going
                going.send_signal(signal.SIGINT)
                assert going.wait(20) == 130, line
            finally:
                going.kill()

    def reads(self, page: Path) -> dict[str, str]:
        """Type a page's lines one after the other; lines, and what was said to each."""
        return {line: self.types(line, code=ends_with(line)) for line in proof.to_type(page)}

    def reads_at_once(self, lines: list[str]) -> dict[str, str]:
        """Type lines that do not wait for one another."""
        said = at_once(lambda line: self.types(line, code=ends_with(line)), lines)
        return dict(zip(lines, said, strict=True))

    def has_typed(self, page: Path) -> None:
        """Nothing of a page was left out."""
        lines = proof.to_type(page)
        left = {str(it) for line in lines for it in blocks.parsed("", line)} - self.typed
        assert left == set()

    def has_said(self, file: str) -> None:
        """Nothing of what a test runs of the sentences was left out."""
        assert {str(it) for it in proof.said(file)} - self.typed == set()

    def _notes(self, line: str) -> None:
        """That it is typed, before it is."""
        commands = list(blocks.parsed("", line))
        programs = {it.words[0] for it in commands if it.words}
        assert programs <= HARMLESS, line
        assert "localcluster" not in line
        self.typed.update(map(str, commands))

    def _written(self, line: str) -> str:
        for word, meant in self._filled.items():
            line = line.replace(word, meant)
        return line


def ends_with(line: str) -> int:
    """No chart is installed beside the tests' API server, no node has room: a doctor says so."""
    return int(" doctor" in line)


def at_once(do: Callable[[Given], Found], things: list[Given]) -> list[Found]:
    """Do it with all of them, some at a time."""
    with ThreadPoolExecutor(HANDS) as pool:
        return list(pool.map(do, things))
