"""What the process shows of itself: probes, metrics, log lines, and settings of kopf."""

import asyncio
import itertools
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import kopf
import pytest
from aiohttp import ClientSession

from builders import NOW, a_body
from trainingjobs import __main__ as command_line
from trainingjobs.cluster.store import Store
from trainingjobs.handlers import logs, process
from trainingjobs.handlers.doors import Limits
from trainingjobs.handlers.health import Health
from trainingjobs.handlers.metrics import Metrics
from trainingjobs.handlers.probes import Probes


class Front:
    """A probe server on a port of its own."""

    def __init__(self) -> None:
        self.store = Store(lambda: NOW)
        self.health = Health(lambda: 0.0)
        self.metrics = Metrics(self.store)
        limits = Limits(connections=16, chance=0)
        self.probes = Probes(self.health, self.metrics, lambda: "operator-0", limits)
        self.port = 0

    async def get(self, path: str) -> tuple[int, str]:
        """Status and text of an answer."""
        url = f"http://127.0.0.1:{self.port}{path}"
        async with ClientSession() as session, session.get(url) as it:
            return it.status, await it.text()


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    here = Front()
    here.port = await here.probes.start(0, "127.0.0.1")
    yield here
    await here.probes.stop()


async def test_ready_means_that_the_first_list_is_complete(front: Front) -> None:
    assert (await front.get("/readyz"))[0] == 503
    front.health.ready = True
    assert await front.get("/readyz") == (200, "ok")


async def test_a_sick_operator_says_why(front: Front) -> None:
    assert await front.get("/healthz") == (200, "ok")
    front.health.checks["queue"] = lambda: "a worker has ended"
    assert await front.get("/healthz") == (503, "queue: a worker has ended")


async def test_who_holds_connections_keeps_no_probe_from_its_answer(front: Front) -> None:
    """Else a pod that can reach this port has the kubelet restart the operator."""
    held = [await asyncio.open_connection("127.0.0.1", front.port) for _ in range(40)]
    assert await front.get("/healthz") == (200, "ok")
    assert sum(reader.at_eof() or bool(reader.exception()) for reader, _ in held) >= 24
    for _, writer in held:
        writer.close()


async def test_the_jobs_are_written_down_once_for_all_who_ask_meanwhile(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes 0.3 s for a thousand of them, and whoever reaches this port may ask."""
    written: list[float] = []

    def write() -> bytes:
        written.append(time.monotonic())
        time.sleep(0.2)
        return b"all_jobs 1\n"

    monkeypatch.setattr(front.metrics, "text_of_jobs", write)
    told = await asyncio.gather(*[front.get("/metrics") for _ in range(10)])
    assert {code for code, _ in told} == {200}
    assert all("all_jobs 1" in text for _, text in told)
    assert "all_jobs 1" in (await front.get("/metrics"))[1]
    assert len(written) == 1


async def test_every_series_is_there_from_the_start(front: Front) -> None:
    status, text = await front.get("/metrics")
    assert status == 200
    for line in (
        'trainingjob_operator_reconciles_total{outcome="error"} 0.0',
        "trainingjob_operator_reconcile_seconds_count 0.0",
        "trainingjob_operator_queue_depth 0.0",
        'trainingjob_operator_api_requests_total{code="201",resource="pods",verb="create"} 0.0',
        'trainingjob_operator_jobs_finished_total{result="Failed"} 0.0',
        'trainingjob_operator_jobs{phase="Running"} 0.0',
    ):
        assert line in text
    assert "_created" not in text


async def test_jobs_are_counted_by_phase(front: Front) -> None:
    front.store.put_job({**a_body(), "status": {"phase": "Running"}})
    other = a_body(name="other")
    other["metadata"]["uid"] = "other"
    front.store.put_job(other)
    text = front.metrics.text().decode()
    assert 'trainingjob_operator_jobs{phase="Running"} 1.0' in text
    assert 'trainingjob_operator_jobs{phase="Pending"} 1.0' in text


@pytest.fixture
def quiet_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    for name in ("kopf", "aiohttp", "asyncio"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.usefixtures("quiet_root")
def test_a_log_line_is_json_with_its_job(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", "json")
    about = {"job": "mnist", "namespace": "lab", "attempt": 2}
    logging.getLogger("trainingjobs.test").info("created %d pods", 3, extra=about)
    logging.getLogger("kopf.objects").info("chatter")
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said.pop("time"))
    assert said == {
        "level": "INFO",
        "logger": "trainingjobs.test",
        "message": "created 3 pods",
        **about,
    }


@pytest.mark.usefixtures("quiet_root")
def test_a_log_line_for_people_names_its_job(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", "text")
    logging.getLogger("x").info("created", extra={"job": "mnist", "namespace": "lab"})
    logging.getLogger("x").info("started")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("created [lab/mnist]")
    assert second.endswith("started")


@pytest.mark.usefixtures("quiet_root")
@pytest.mark.parametrize("form", ["text", "json"])
def test_other_peoples_words_end_no_line_and_move_no_cursor(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.set_up("INFO", form)
    evil = "\x1b[2J\u202e\r\n2026-01-01 00:00:00 INFO all is well\x9b31m\u2028"
    logging.getLogger("x").warning("refused: %s", evil)
    logging.getLogger("x").error("that went wrong", exc_info=ValueError(evil))
    lines = capsys.readouterr().err.split("\n")
    assert all(line.isprintable() for line in lines)
    assert not [line for line in lines if line.startswith("2026-01-01 00:00:00")]
    said = "\n".join(lines)
    assert "refused: " in said
    assert "ValueError: " in said


@pytest.mark.usefixtures("quiet_root")
def test_who_asks_for_details_gets_kopfs_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("DEBUG", "text")
    logging.getLogger("kopf.objects").info("chatter")
    assert "chatter" in capsys.readouterr().err


def test_kopf_writes_nothing_and_never_gives_up() -> None:
    own = process.settings()
    assert not own.posting.enabled
    assert own.scanning.disabled
    storage: Any = own.persistence.diffbase_storage
    assert storage.fetch(body={}) is None
    assert storage.build(body=a_body()) == {}
    pauses = list(itertools.islice(iter(own.networking.error_backoffs), 100))  # type: ignore[arg-type]
    assert 10 <= max(pauses) <= 13
    assert pauses[0] < 2
    assert isinstance(own.watching.server_timeout, int)


def test_a_kubeconfig_is_enough_to_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://api.test"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    facts = process.connection(process.login(process.settings()))
    assert facts.server == "https://api.test"
    assert facts.headers() == {"Authorization": "Bearer secret"}
    assert "secret" not in repr(facts)


def test_without_credentials_there_is_no_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(kopf.LoginError):
        process.login(process.settings())


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["version"]) == 0
    assert capsys.readouterr().out.strip()


def test_bad_settings_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRAININGJOBS_PORT", "high")
    assert command_line.main(["run"]) == 2
    assert "TRAININGJOBS_PORT" in capsys.readouterr().err


def test_the_command_line_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAININGJOBS_NAMESPACES", "a")
    parsed = command_line._parser().parse_args(  # noqa: SLF001 - the rest would start an operator
        ["run", "--namespace", "b", "--namespace", "c", "--port", "9"]
    )
    chosen = command_line._settings(parsed)  # noqa: SLF001
    assert (chosen.namespaces, chosen.port) == (("b", "c"), 9)


def test_python_searches_its_memory_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line starts with it, whatever comes after."""
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(process.gc, "set_threshold", lambda *numbers: asked.append(numbers))
    monkeypatch.setattr(command_line.start, "run", lambda _: no_operator())
    monkeypatch.setattr(command_line.logs, "set_up", lambda *_: None)
    assert command_line.main(["run"]) == 0
    assert asked
    assert asked[0][0] >= 10_000


async def no_operator() -> int:
    return 0
