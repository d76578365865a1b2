"""A training pod that means harm, on a real cluster: it harms nobody but its own job.

It sends all that it can, with its own tokens and with forged ones, while the job of another
namespace trains. That one has to be told of in time, and nothing that the pod has said may reach
a terminal as it was sent.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from e2e import jobs
from e2e.deployed import SELECTOR, Operator
from e2e.harness import Cluster, Manifest, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]

HOSTILE = Path(__file__).with_name("hostile")
ATTACK = 20.0
TRAINS = 60.0
"""Seconds."""
LATE = 30.0
"""Seconds by which the status may be behind: a report each 5 s, its numbers written each 10 s, and
what a machine of few cores adds where a pod takes half of one of them."""
MEMORY = 400 * 2**20
"""Bytes: the chart lets the operator take 512 MiB."""
HARMLESS = {
    "api": {"403"},
    "api with the reports' token": {"401"},
    "a_million_ranks": {"400", "429"},
    "deep": {"400", "429"},
    "forged_tokens": {"401"},
    "made_up_tokens": {"401"},
    "own_reports": {"200", "429"},
    "many_processes": {"200", "429"},
    "escapes": {"200", "429"},
    "huge": {"413", "429"},
    "endless": {"413", "429"},
    "slow": {"shown out", "0"},
    "metrics": {"200"},
    "probes": {"0"},
    "smuggled": {"1400"},
}
"""What may come back, besides that there is no room now: 503, 408, or an end of the connection."""
BUSY = {"408", "503", "1503"}
CUT_SHORT = {"huge", "endless"}
"""The server may end the connection before its answer is read."""


def a_job(name: str, script: str, **env: str) -> Manifest:
    template = jobs.a_template((HOSTILE / f"{script}.py").read_text(), **env)
    (container,) = template["spec"]["containers"]
    container["resources"]["limits"] = {"cpu": "500m", "memory": "256Mi"}
    return jobs.a_job(name, 1, template, maxRestarts=0)


@pytest.fixture
def evil(cluster: Cluster) -> Any:
    """The namespace of the one who means harm."""
    namespace = cluster.new_namespace("evil")
    yield namespace
    cluster.kubectl("delete", "namespace", namespace.name, "--wait=false")


def pod_of(operator: Operator) -> Manifest:
    listed = json.loads(operator.home.kubectl("get", "pods", f"-l{SELECTOR}", "-ojson"))
    (pod,) = listed["items"]
    found: Manifest = pod
    return found


def restarts(pod: Manifest) -> int:
    return int(pod["status"]["containerStatuses"][0]["restartCount"])


def memory(operator: Operator, pod: Manifest) -> int:
    """What the kubelet counts for the operator's pod, in bytes."""
    path = f"/api/v1/nodes/{pod['spec']['nodeName']}/proxy/stats/summary"
    told = json.loads(operator.home.cluster.kubectl("get", "--raw", path))
    (one,) = [it for it in told["pods"] if it["podRef"]["uid"] == pod["metadata"]["uid"]]
    return int(one["containers"][0]["memory"]["workingSetBytes"])


def texts(value: Any) -> list[str]:
    """All words of an object."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def unseen(words: str) -> list[str]:
    return [line for line in words.split("\n") if not line.isprintable()]


def watched(good: Namespace, evil: Namespace, operator: Operator, start: float) -> dict[str, float]:
    """The largest lateness and memory that were seen until the attack was over."""
    pod, worst = pod_of(operator), {"late": 0.0, "memory": 0.0}
    while evil.status("evil").get("phase") not in {"Succeeded", "Failed"}:
        step = (good.status("good").get("training") or {}).get("step", 0)
        worst["late"] = max(worst["late"], time.time() - start - step / 10)
        worst["memory"] = max(worst["memory"], float(memory(operator, pod)))
        assert time.time() - start < 300, "it does not end"
        time.sleep(1)
    return worst


def test_a_pod_that_means_harm_harms_its_own_job_alone(
    lab: Namespace, evil: Namespace, operator: Operator
) -> None:
    before, start = pod_of(operator), time.time()
    clock = {"START": str(start), "TRAIN_SECONDS": str(TRAINS)}
    lab.apply(a_job("good", "good", **clock))
    lab.wait_for("good", lambda status: bool((status.get("training") or {}).get("step")))
    victim = lab.ranks("good")[0]["metadata"]["uid"]
    known = {"VICTIM": victim, "OTHERS": lab.name, "OPERATOR": before["status"]["podIP"]}
    own = {"OWN": evil.name, "ATTACK_SECONDS": str(ATTACK)}
    evil.apply(a_job("evil", "evil", **known, **own))
    worst = watched(lab, evil, operator, start)
    after = pod_of(operator)
    said = evil.kubectl("logs", "evil-master")
    print(worst, said[-3000:])  # noqa: T201 - for who measures

    check_answers(json.loads(re.findall(r"^came (.*)$", said, re.MULTILINE)[0]))
    assert worst["late"] < LATE
    assert worst["memory"] < MEMORY
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert restarts(after) == restarts(before)
    assert lab.wait_for_end("good")["phase"] == "Succeeded"
    assert lab.status("good")["restarts"] == 0
    assert "<script>" not in json.dumps(lab.status("good"))
    check_words(evil, operator)


def check_answers(came: dict[str, dict[str, int]]) -> None:
    """Each attack was tried, and refused as it should be, or there was no room for it."""
    assert came.keys() == HARMLESS.keys()
    for attack, codes in came.items():
        answers = {code for code in codes if code.isdigit() or code == "shown out"}
        assert answers <= HARMLESS[attack] | BUSY, attack
        assert answers or attack in CUT_SHORT, f"{attack} was never answered: {codes}"
    assert came["slow"]["shown out"], "who says one letter after the other is not kept for ever"


def check_words(evil: Namespace, operator: Operator) -> None:
    """What it has said is nowhere as it was said."""
    failed = evil.status("evil")
    assert failed["phase"] == "Failed"
    events = json.loads(evil.kubectl("get", "events", "-ojson"))["items"]
    ours = [it["message"] for it in events if it["involvedObject"]["kind"] == "TrainingJob"]
    assert ours
    for text in texts([failed, ours]):
        assert unseen(text) == []
    assert unseen(operator.home.kubectl("logs", f"-l{SELECTOR}", "--tail=-1")) == []
