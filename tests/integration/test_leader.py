"""Two replicas and a real API server: one writes, the other is ready to, and never both.

The API server's audit log names each replica by its user agent and says when it was asked.
"""

import itertools
import json
import signal
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from integration.cable import Cable
from integration.jobs import a_job
from integration.operators import Operator, Served, eventually, replicas
from integration.server import ApiServer

pytestmark = pytest.mark.integration

TAKEOVER = 15.0
MANY = 20
_numbers = itertools.count()
_READS = {"get", "list", "watch"}


class Pair(Served):
    """A namespace with two replicas, and what the audit log says of each."""

    def __init__(self, server: ApiServer, both: dict[str, Operator]) -> None:
        super().__init__(server, both["one"])
        self.one, self.two = both["one"], both["two"]

    def writes(self, who: Operator) -> list[tuple[datetime, str, str]]:
        """When it wrote what, without the Lease."""
        return [
            (datetime.fromisoformat(it["requestReceivedTimestamp"]), it["verb"], it["requestURI"])
            for it in self._asked(who)
            if it["verb"] not in _READS and "/leases" not in it["requestURI"]
        ]

    def listed(self, who: Operator, since: datetime, until: datetime) -> list[str]:
        """What it listed between these times."""
        return [
            it["requestURI"]
            for it in self._asked(who)
            if it["verb"] == "list" and since < datetime.fromisoformat(it["stageTimestamp"]) < until
        ]

    def taken(self, who: Operator) -> datetime:
        """When it asked for the Lease that it got."""
        return next(
            datetime.fromisoformat(it["requestReceivedTimestamp"])
            for it in self._asked(who)
            if it["verb"] in {"update", "create"}
            and "/leases" in it["requestURI"]
            and it["responseStatus"]["code"] < 300
        )

    def _asked(self, who: Operator) -> list[dict[str, Any]]:
        lines = (json.loads(line) for line in self.server.audit_log.read_text().splitlines())
        account = f"system:serviceaccount:{self.namespace}:operator"
        return [
            it
            for it in lines
            if it["stage"] == "ResponseComplete"
            and it["user"].get("username", "") == account
            and it.get("userAgent", "").endswith(f" {who.pod}")
        ]

    def pods(self, job: str) -> int:
        """How many pods of a job there are."""
        wanted = f"app.kubernetes.io/instance={job}"
        return len(self.core.list_namespaced_pod(self.namespace, label_selector=wanted).items)

    def train(self, name: str, instances: int) -> None:
        """The user makes a job."""
        job = a_job(name, PARALLEL_INSTANCES=instances)
        self.apply({**job, "metadata": {"name": name, "namespace": self.namespace}})


@pytest.fixture
def pair(apiserver: ApiServer, tmp_path: Path) -> Iterator[Pair]:
    with replicas(apiserver, f"leader-{next(_numbers)}", tmp_path) as both:
        yield Pair(apiserver, both)


def test_the_standby_writes_nothing_and_takes_over_within_15_s_of_a_kill(pair: Pair) -> None:
    pair.train("first", 2)
    eventually(lambda: pair.status_of("first").get("replicas") == 2)
    assert pair.one.leads()
    assert not pair.two.leads()
    assert pair.two.is_ready()
    assert not pair.writes(pair.two)
    pair.one.stop(signal.SIGKILL)
    killed = time.monotonic()
    pair.train("second", 2)
    eventually(lambda: pair.pods("second") == 2, TAKEOVER)
    took = time.monotonic() - killed
    print(f"a job that came after the kill had its pods after {took:.1f} s")  # noqa: T201
    assert took < TAKEOVER
    eventually(lambda: pair.status_of("second").get("replicas") == 2)
    assert pair.pods("first") == 2
    assert not pair.two.refused()
    leads, (writes, *_) = pair.taken(pair.two), pair.writes(pair.two)[0]
    assert leads < writes
    assert not pair.listed(pair.two, leads, writes), "its memory was not warm"


def test_a_clean_stop_is_followed_at_once(pair: Pair) -> None:
    pair.train("first", 2)
    eventually(lambda: pair.status_of("first").get("replicas") == 2)
    asked = time.monotonic()
    assert pair.one.stop() == 0
    stopped = time.monotonic() - asked
    pair.train("second", 2)
    eventually(lambda: pair.pods("second") == 2, 5.0)
    took = time.monotonic() - asked
    print(f"stopped after {stopped:.1f} s, followed after {took:.1f} s")  # noqa: T201
    last = max(when for when, *_ in pair.writes(pair.one))
    assert pair.taken(pair.two) > last
    pair.one.start()
    assert pair.one.is_ready()
    assert not pair.one.leads()


def test_a_frozen_leader_that_wakes_up_writes_nothing(pair: Pair) -> None:
    """It stands still with a pod's create in its hands, and goes on with it long after its time."""
    assert pair.one.process is not None
    (pair.one.folder / "stand-still").touch()
    pair.train("many", MANY)
    eventually(lambda: not (pair.one.folder / "stand-still").exists())
    assert pair.pods("many") == 0
    eventually(pair.two.leads, TAKEOVER)
    took = pair.taken(pair.two)
    eventually(lambda: pair.pods("many") == MANY)
    pair.one.process.send_signal(signal.SIGCONT)
    eventually(lambda: "leading no more" in pair.one.log())
    eventually(lambda: "two_" in pair.one.log())
    assert [it for it in pair.writes(pair.one) if it[0] > took] == []
    assert pair.two.leads()
    assert not pair.one.leads()
    pair.two.stop()
    eventually(pair.one.leads, 5.0)
    pair.train("next", 2)
    eventually(lambda: pair.pods("next") == 2)


def test_both_survive_an_api_server_that_is_gone(apiserver: ApiServer, tmp_path: Path) -> None:
    cable = Cable(apiserver.url)
    namespace = f"leader-{next(_numbers)}"
    with replicas(apiserver, namespace, tmp_path, url=cable.url) as both:
        pair = Pair(apiserver, both)
        pair.train("first", 2)
        eventually(lambda: pair.pods("first") == 2)
        cable.pull()
        eventually(lambda: not pair.one.leads(), TAKEOVER)
        pair.train("second", 2)
        time.sleep(3)
        assert pair.pods("second") == 0
        cable.mend()
        mended = time.monotonic()
        eventually(lambda: pair.pods("second") == 2)
        took = time.monotonic() - mended
        print(f"led again {took:.1f} s after the API server was back")  # noqa: T201
        assert [pair.one.leads(), pair.two.leads()].count(True) == 1
        assert pair.pods("first") == 2
    cable.close()
