"""`stacks`, and the ranks of `top`: what the operator's leader says, and when it does not."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from builders import NOW
from cli.clients import FakeClient, a_state
from cli.given import HOSTILE, a_pod
from trainingjobs.cli import screen
from trainingjobs.cli.app import app
from trainingjobs.cli.commands import hearing, watching
from trainingjobs.cli.views import live as table
from trainingjobs.cli.views import stacks
from trainingjobs.client import live
from trainingjobs.client.errors import ClientError, RefusedError, UnreachableError

FRAMES = [
    {"file": "torch/distributed.py", "line": 900, "function": "all_reduce", "user": False},
    {"file": "train.py", "line": 41, "function": "train", "user": True},
    {"file": "train.py", "line": 80, "function": "main", "user": True},
]
STACKS: Any = {
    "attempt": 1,
    "stacks": [
        {
            "ranks": "0-2",
            "stage": "stepping",
            "waitsIn": "all_reduce",
            "silent": False,
            "steps": "40-41",
            "heard": "2026-03-01T11:59:55Z",
            "frames": FRAMES,
        },
        {
            "ranks": "4",
            "stage": "stepping",
            "waitsIn": None,
            "silent": True,
            "steps": "12",
            "heard": "2026-03-01T11:58:55Z",
            "frames": FRAMES[:1],
        },
        {"ranks": "6", "stage": "spawned", "steps": "0", "heard": None, "frames": []},
    ],
    "unheard": "3,5",
    "more": 0,
}
WHOLE: Any = {
    "status": {},
    "ranks": [
        {"rank": 0, "pod": "mnist-master", "node": "node-a", "stage": "stepping", "step": 41},
        {
            "rank": 1,
            "pod": "mnist-worker-0",
            "stage": "stepping",
            "step": 40,
            "rate": 5.1234,
            "line": "train.py:17",
            "waitsIn": "barrier",
            "silent": True,
        },
        {"rank": 2, "pod": "mnist-worker-1", "node": None, "stage": None, "step": 0, "rate": 0},
    ],
    "findings": [],
}


class Told:
    """An operator that says this, or what is in its way."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.accounts = answer, list[str]()

    async def stacks(self, namespace: str, name: str) -> Any:
        """Where ranks stand."""
        assert (namespace, name) == ("lab", "mnist")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    whole = stacks

    @asynccontextmanager
    async def opened(
        self, raw: Any, namespace: str, account: str, say: Any = None
    ) -> AsyncIterator[Any]:
        """The way to it."""
        del raw, say
        assert namespace == "lab"
        self.accounts.append(account)
        yield self


class Seen(FakeClient):
    """One that has a way to the API server."""

    raw = None


def called(
    monkeypatch: pytest.MonkeyPatch, answer: Any, *args: str, phase: str = "Running", **env: str
) -> tuple[Result, Told]:
    operator, client = Told(answer), Seen(a_state(phase))
    client.pods = [a_pod(0)]
    monkeypatch.setattr(screen, "connect", lambda: client)
    monkeypatch.setattr(live, "opened", operator.opened)
    return CliRunner().invoke(app, list(args), env=env, prog_name="tj"), operator


def test_ranks_at_one_place_are_one_line() -> None:
    assert list(stacks.lines(STACKS, NOW)) == [
        "ranks 0-2 (all_reduce, steps 40-41): train.py:80 main > train.py:41 train",
        "rank 4 (stepping, step 12, silent, 65s ago): torch/distributed.py:900 all_reduce",
        "rank 6 (spawned, step 0): no stack",
        "ranks 3, 5: nothing was heard of them yet",
    ]


def test_in_full_every_frame_has_a_line() -> None:
    assert list(stacks.lines(STACKS, NOW, full=True))[:4] == [
        "ranks 0-2 (all_reduce, steps 40-41):",
        "  torch/distributed.py:900 all_reduce",
        "  train.py:41 train",
        "  train.py:80 main",
    ]


def test_some_ranks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, operator = called(
        monkeypatch, STACKS, "stacks", "mnist", "-r", "1,3", "-o", "json", "--account", "me"
    )
    found = json.loads(shown.stdout)
    assert [it["ranks"] for it in found["stacks"]] == ["1"]
    assert (found["unheard"], operator.accounts) == ("3", ["me"])


def test_all_of_it_as_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = called(monkeypatch, STACKS, "stacks", "mnist", "-o", "yaml")
    assert yaml.safe_load(shown.stdout) == STACKS


def test_ranks_of_processes_go_further_than_those_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {**STACKS, "stacks": [{**STACKS["stacks"][0], "ranks": "9999-10001"}]}
    shown, _ = called(monkeypatch, answer, "stacks", "mnist", "-r", "10000", "-o", "json")
    assert shown.exit_code == 0, shown.output
    assert [it["ranks"] for it in json.loads(shown.stdout)["stacks"]] == ["10000"]
    assert CliRunner().invoke(app, ["logs", "mnist", "-r", "10000"]).exit_code == 2


@pytest.mark.parametrize("text", ["65536", "0-65536", "0-99999999999"])
def test_a_set_that_is_too_large_is_none(text: str) -> None:
    shown = CliRunner().invoke(app, ["stacks", "mnist", "-r", text])
    assert (shown.exit_code, "is no set of ranks" in shown.stderr) == (2, True)


def test_what_is_too_much_to_tell_is_counted() -> None:
    (last,) = stacks.lines({"stacks": [], "unheard": "", "more": 9}, NOW)
    assert "--rank" in last


def test_nothing_reaches_the_terminal_raw(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = [{"file": HOSTILE, "line": 1, "function": "f", "user": True}]
    answer = {**STACKS, "stacks": [{**STACKS["stacks"][0], "frames": hostile}]}
    shown, _ = called(monkeypatch, answer, "stacks", "mnist")
    assert "\x1b" not in shown.stdout
    assert r"\x1b[2J" in shown.stdout


def test_a_job_that_is_over_has_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, operator = called(monkeypatch, STACKS, "stacks", "mnist", phase="Failed")
    assert (shown.exit_code, operator.accounts) == (1, [])
    assert "mnist is over (Failed)" in shown.stderr


def test_what_is_in_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = called(monkeypatch, RefusedError("you may not: ask"), "stacks", "mnist")
    assert (shown.exit_code, shown.stderr) == (1, "error: you may not: ask\n")


def test_top_has_a_line_for_every_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = called(monkeypatch, WHOLE, "top", "mnist")
    lines = [line.strip() for line in shown.stdout.partition("Ranks:\n")[2].splitlines()]
    assert [" ".join(line.split()) for line in lines[:4]] == [
        "RANK POD NODE STATE STAGE STEP RATE STANDS AT",
        "0 mnist-master node-a Running stepping 41",
        "1 mnist-worker-0 <none> - stepping (silent) 40 5.12/s barrier at train.py:17",
        "2 mnist-worker-1 <none> - - 0",
    ]


def test_top_shows_what_the_resource_says_where_nobody_tells_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, _ = called(monkeypatch, RefusedError("you may not port-forward"), "top", "mnist")
    assert shown.exit_code == 0
    assert "mnist-worker-1" in shown.stdout
    assert "(as the resource says: you may not port-forward)" in shown.stdout


def test_of_very_many_ranks_those_in_trouble_are_shown() -> None:
    ranks = [{**WHOLE["ranks"][0], "rank": rank} for rank in range(1000)]
    ranks[900]["silent"] = True
    whole = {"ranks": ranks, "findings": [{"ranks": [950]}]}
    lines = table.table(whole, [])
    assert [line.split()[0] for line in lines[-3:]] == ["900", "950", "…"]
    assert lines[-1] == "… and 936 more"


@pytest.mark.parametrize(
    ("answers", "asked"),
    [([RefusedError("no")], 1), ([UnreachableError("no leader"), ClientError("odd")], 2)],
)
async def test_who_is_refused_asks_no_more(
    monkeypatch: pytest.MonkeyPatch, answers: list[Exception], asked: int
) -> None:
    left = list(answers)

    class Turning(Told):
        async def whole(self, namespace: str, name: str) -> Any:
            del namespace, name
            if not left:
                raise RefusedError("at last")
            raise left.pop(0)

    operator = Turning(None)
    monkeypatch.setattr(live, "opened", operator.opened)
    monkeypatch.setattr(hearing, "_PAUSE", 0.0)
    heard = hearing.Heard(Seen(), "")  # type: ignore[arg-type]
    heard.begin(a_state("Running"))
    assert heard._asking is not None  # noqa: SLF001
    await heard._asking  # noqa: SLF001
    assert heard.whole is None
    assert len(operator.accounts) >= asked
    assert heard.wrong == ("no" if asked == 1 else "at last")


def test_top_asks_while_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "at_terminal", lambda: True)
    monkeypatch.setattr(watching, "_SECONDS", 0.05)
    operator = Told(WHOLE)
    client = Seen(a_state("Running"), a_state("Running"), a_state("Succeeded"))
    monkeypatch.setattr(screen, "connect", lambda: client)
    monkeypatch.setattr(live, "opened", operator.opened)
    shown = CliRunner().invoke(app, ["top", "mnist"], env={"TERM": "xterm"})
    assert shown.exit_code == 0, shown.output
    assert operator.accounts == [""]
