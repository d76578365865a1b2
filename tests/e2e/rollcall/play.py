"""All scenarios at once, in one namespace: what hangs costs nothing, so they need not take turns.

They start a few at a time, as the import of torch is what they all need the processor for.
"""

import json
import os
import urllib.request
from collections import deque
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from e2e.deployed import Operator
from e2e.harness import Manifest, Namespace
from e2e.rollcall import scenarios
from e2e.rollcall.history import History, condition

AT_ONCE = 3
AUDIENCE = "trainingjob.dev/status"
WORDS = "ROLLCALL_WORDS"
"""Names a folder for what kubectl says of each job in the end: docs/troubleshooting.md has it."""


class Play:
    """The jobs of all scenarios, and all that they have said."""

    def __init__(self, lab: Namespace, operator: Operator) -> None:
        self.lab = lab
        self.history = History(lab)
        self.seconds: dict[str, float] = {}
        """How long it took until what hangs was named."""
        self._operator = operator

    def begin(self) -> None:
        """Start the jobs, one after the other."""
        self.lab.apply(scenarios.config_map())
        may = ("--verb=get,list", "--resource=trainingjobs,pods/log,events")
        self.lab.kubectl("create", "role", "reader", *may)
        bound = f"--serviceaccount={self.lab.name}:default"
        self.lab.kubectl("create", "rolebinding", "reader", "--role=reader", bound)
        self.history.begin()
        host = urlsplit(self._report_url()).hostname or ""
        starting: deque[str] = deque()
        for name in scenarios.SCENARIOS:
            self.lab.apply(scenarios.job(name, host))
            starting.append(name)
            if len(starting) == AT_ONCE:
                first = starting.popleft()
                self.history.first(first, _has_started(first))

    def end(self) -> None:
        """Keep the words where they are asked for, and delete all."""
        folder = os.environ.get(WORDS)
        if folder:
            self._keep(Path(folder))
        self.lab.cluster.kubectl("delete", "namespace", self.lab.name, "--wait=false")
        self.history.end()

    def hung_at(self, pod: str) -> float:
        """When a pod told that it would hang."""
        return self.lab.told_at(pod, "hangs at")

    def whole(self, job: str, part: str = "") -> Manifest:
        """What the operator's own service tells of a job, to one who may get it.

        Args:
            job: its name.
            part: what of it, as the page asks for it: `/events`.
        """
        token = self.lab.kubectl("create", "token", "default", f"--audience={AUDIENCE}").strip()
        service = f"service/{self._operator.name}-rollcall"
        with self._operator.home.forwarded(service, "rollcall") as address:
            return _asked(f"{address}{self._path(job)}{part}", token)

    def _path(self, job: str) -> str:
        return f"/api/v1/namespaces/{self.lab.name}/trainingjobs/{job}"

    def _report_url(self) -> str:
        deployment = self._operator.home.objects("deployments")[self._operator.name]
        environment = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        url: str = next(
            it["value"] for it in environment if it["name"] == "TRAININGJOBS_REPORT_URL"
        )
        return url

    def _keep(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seconds.json").write_text(json.dumps(self.seconds, indent=1))
        for job in scenarios.SCENARIOS:
            table = self.lab.kubectl("get", "trainingjob", job, "-o", "wide")
            told = self.lab.kubectl("describe", "trainingjob", job)
            (folder / f"{job}.txt").write_text(f"{table}\n{told}")
            said = [[one.at, one.status] for one in self.history.of(job)]
            (folder / f"{job}.json").write_text(json.dumps(said, indent=1))


def _has_started(job: str) -> Callable[[Manifest], bool]:
    """Whether the group is whole, or it is clear that it will not be."""
    if not scenarios.SCENARIOS[job].heard:
        return lambda status: status.get("phase") in {"Running", "Succeeded"}
    return lambda status: (
        condition(status, "Registered").get("status") == "True"
        or condition(status, "Registered").get("reason") == "RanksMissing"
        or status.get("phase") in {"Succeeded", "Failed"}
    )


def _asked(address: str, token: str) -> Manifest:
    request = urllib.request.Request(
        f"http://{address}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        told: Manifest = json.load(answer)
        return told
