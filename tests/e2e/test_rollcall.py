"""The roll call on real pods: what is wrong is named, with its rank and its line, and in time.

All scenarios run at once, so a test waits for what its own job says, or has said already.
"""

import re
from collections.abc import Iterator

import pytest

from e2e.deployed import Operator
from e2e.harness import Cluster, Manifest, Namespace
from e2e.rollcall import scenarios
from e2e.rollcall.history import Said, alarms, condition, finds, found, holds
from e2e.rollcall.play import Play
from e2e.rollcall.scenarios import STALL, line

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

NAMED_WITHIN = 6 * STALL + 60
"""Seconds from a hang to its name. The target is STALL + 10; with eighteen jobs at once on few
cores it takes longer until their ranks are heard."""
OURS = ("trainingjob-rollcall", "PYTHONPATH", "TRAININGJOB_REPORT_URL")
SLOWED = 4.0
"""Seconds: a step that waits for a report waits for its time-out, 5 s."""


@pytest.fixture(scope="module")
def play(cluster: Cluster, operator: Operator) -> Iterator[Play]:
    """All scenarios, started."""
    played = Play(cluster.new_namespace("rollcall"), operator)
    try:
        played.begin()
        yield played
    finally:
        played.end()


@pytest.mark.parametrize(
    ("job", "script", "ranks"),
    [
        ("skip", "skip", "1"),
        ("loader", "loader", "1"),
        ("uneven", "uneven", "1"),
        ("torchrun", "several", "3"),
        ("spawned", "several", "3"),
    ],
)
def test_a_rank_that_hangs_is_named_with_its_line(
    play: Play, job: str, script: str, ranks: str
) -> None:
    pod, guilty, others = f"{job}-worker-0", line(script), line(script, "others")
    hung = play.hung_at(pod)
    said = play.history.first(job, holds("Stalled"))
    stall = found(said.status, "Stalled")
    assert (stall["ranks"], stall["line"]) == (ranks, guilty)
    assert guilty in said.status["message"]
    assert f"{pod} on" in said.status["message"]
    assert others in said.status["message"], "where the others wait"
    assert condition(said.status, "Stalled")["reason"] == "Stalled"
    assert ranks in [str(item["rank"]) for item in said.status["troubledRanks"]]
    check_time(play, job, said, hung)


def test_a_stopped_rank_is_named_with_the_line_it_was_last_seen_at(play: Play) -> None:
    hung = play.hung_at("stopped-worker-0")
    said = play.history.first("stopped", holds("Stalled"))
    stall = found(said.status, "Stalled")
    file, _, number = stall["line"].partition(":")
    begin, end = scenarios.numbers("stopped", "the loop begins", "the loop ends")
    assert stall["ranks"] == "1"
    assert file == "stopped.py"
    assert begin <= int(number) <= end, "it was in its training loop when it last told"
    assert "rank 1 (stopped-worker-0 on" in said.status["message"]
    assert line("stopped", "others") in said.status["message"]
    check_time(play, "stopped", said, hung)


def test_a_rank_that_does_not_come_is_named_while_the_others_wait(play: Play) -> None:
    hung = play.hung_at("late-worker-0")
    here = "2 of 3 ranks joined, missing 1: rank 1 (late-worker-0 on"
    said = play.history.first(
        "late", lambda status: here in _registered(status) and line("late") in _registered(status)
    )
    assert condition(said.status, "Registered")["reason"] == "RanksMissing"
    check_time(play, "late", said, hung)
    missing = found(play.history.first("late", finds("RanksMissing")).status, "RanksMissing")
    assert (missing["ranks"], missing["line"]) == ("1", line("late"))


def test_a_slow_data_loader_is_named_though_all_ranks_make_steps(play: Play) -> None:
    said = play.history.first("slow", finds("Straggler"))
    straggler = found(said.status, "Straggler")
    assert (straggler["ranks"], straggler["line"]) == ("1", line("slow"))
    assert "data loader" in straggler["message"]
    assert play.lab.wait_for_end("slow")["phase"] == "Succeeded"
    check_no_alarm(play, "slow", but="Straggler")


@pytest.mark.parametrize(
    ("job", "kind", "about"),
    [
        ("unsharded", "DataNotSharded", "DataSharded"),
        ("unwrapped", "ModelNotWrapped", "ModelWrapped"),
    ],
)
def test_what_trains_wrongly_in_silence_is_named(
    play: Play, job: str, kind: str, about: str
) -> None:
    said = play.history.first(job, holds(about, "False"))
    assert said.status["phase"] in {"Starting", "Running"}, "there is something to win yet"
    assert condition(said.status, about)["reason"] == kind
    wrong = found(said.status, kind)
    assert (wrong["ranks"], wrong["line"]) == ("0-1", line(job))
    assert line(job) in condition(said.status, about)["message"]
    status = play.lab.wait_for_end(job)
    assert status["phase"] == "Succeeded"
    assert holds(about, "False")(status), "it still says so when it has ended"
    check_no_alarm(play, job, but=kind)


def test_a_process_group_that_is_not_destroyed_is_named(play: Play) -> None:
    status = play.lab.wait_for_end("undestroyed")
    assert status["phase"] == "Succeeded"
    left = found(status, "ProcessGroupNotDestroyed")
    assert (left["ranks"], left["line"]) == ("0-1", line("undestroyed"))
    assert "destroy_process_group" in left["message"]


def test_an_exception_is_the_first_cause_when_its_pod_is_gone(play: Play) -> None:
    status = play.lab.wait_for_end("broken")
    play.lab.wait("pods", lambda pods: not pods, job="broken")
    assert status["phase"] == "Failed"
    failure = play.lab.status("broken")["failure"]
    assert (failure["rank"], failure["pod"]) == (2, "broken-worker-1")
    assert failure["message"].splitlines()[-1] == (
        f"ValueError: label 10 of sample 4 is out of range ({line('broken')})"
    )
    assert line("broken") in status["message"]


def test_a_stalled_group_is_restarted_and_its_stacks_are_kept(play: Play) -> None:
    status = play.lab.wait_for_end("once")
    assert status["phase"] == "Succeeded", status["message"]
    assert (status["attempt"], status["restarts"], status["disruptions"]) == (2, 1, 0)
    (first,) = status["attempts"]
    assert first["failure"]["reason"] == "Stalled"
    assert (first["failure"]["rank"], first["failure"]["pod"]) == (2, "once-worker-1")
    assert line("once") in first["failure"]["message"]
    kept = play.lab.kubectl("get", "configmap", "once-stacks-1", "-o", "jsonpath={.data}")
    assert line("once") in kept
    assert line("once", "others") in kept
    assert "ranks 0, 1" in kept or "ranks 0-1" in kept


@pytest.mark.parametrize("job", ["torchrun", "spawned"])
def test_each_process_is_a_rank_of_its_own(play: Play, job: str) -> None:
    said = play.history.first(job, holds("Registered"))
    assert "all 4 ranks joined" in condition(said.status, "Registered")["message"]
    play.history.first(job, holds("Stalled"))
    ranks = {item["rank"]: item for item in play.whole(job)["ranks"]}
    assert sorted(ranks) == [0, 1, 2, 3]
    assert [ranks[rank]["pod"] for rank in ranks] == [
        *[f"{job}-master"] * 2,
        *[f"{job}-worker-0"] * 2,
    ]
    assert {item["stage"] for item in ranks.values()} == {"stepping"}
    lines = [ranks[rank]["line"] for rank in sorted(ranks)]
    assert lines == [*[line("several", "others")] * 3, line("several")]


def test_the_page_shows_the_log_of_a_pod_and_what_happened(play: Play) -> None:
    play.hung_at("skip-worker-0")
    play.history.first("skip", holds("Stalled"))
    log = play.whole("skip", "/instances/1/log")
    assert (log["pod"], log["attempt"]) == ("skip-worker-0", 1)
    assert "hangs at" in log["text"]
    told = play.whole("skip", "/events")["events"]
    assert "Registered" in {it["reason"] for it in told}
    told = play.whole("skip", "/instances/1/events")["events"]
    assert {"Scheduled", "Started"} <= {it["reason"] for it in told}


def test_a_long_evaluation_is_no_stall_and_progress_is_told(play: Play) -> None:
    status = play.lab.wait_for_end("evaluation")
    assert status["phase"] == "Succeeded", status["message"]
    check_no_alarm(play, "evaluation")
    half = play.history.first("evaluation", lambda status: status.get("progress") == "50%")
    assert half.status["training"]["totalSteps"] == 60
    assert "loss" in half.status["training"]["metrics"]


@pytest.mark.parametrize("job", ["closed", "dropped"])
def test_pods_that_cannot_reach_the_operator_train_as_fast(play: Play, job: str) -> None:
    status = play.lab.wait_for_end(job)
    assert status["phase"] == "Succeeded", status["message"]
    assert status["ready"] == "2/2"
    check_no_alarm(play, job)
    assert {
        condition(status, name).get("status", "Unknown")
        for name in ("Registered", "Stalled", "DataSharded", "ModelWrapped")
    } == {"Unknown"}
    longest = [longest_step(play.lab, pod) for pod in play.lab.objects("pods", job)]
    play.seconds[f"{job}: longest step"] = max(longest)
    assert max(longest) < SLOWED


def test_nothing_of_ours_is_in_the_pods_where_the_roll_call_is_disabled(play: Play) -> None:
    play.lab.wait_for_end("disabled")
    template = scenarios.job("disabled", "")["spec"]["template"]["spec"]
    for pod in play.lab.objects("pods", "disabled").values():
        check_nothing_of_ours(pod["spec"], template)
    check_no_alarm(play, "disabled")
    assert "configmap" not in play.lab.kubectl(
        "get", "configmaps", "-l", "app.kubernetes.io/instance=disabled", "-o", "name"
    )
    told = [str(pod["spec"]) for pod in play.lab.objects("pods", "healthy").values()]
    assert all(ours in spec for spec in told for ours in OURS), "the words above are the right ones"


def test_a_healthy_group_is_well_in_every_respect(play: Play) -> None:
    status = play.lab.wait_for_end("healthy")
    assert status["phase"] == "Succeeded", status["message"]
    check_no_alarm(play, "healthy")
    for name in ("Registered", "DataSharded", "ModelWrapped"):
        play.history.first("healthy", holds(name))


def check_time(play: Play, job: str, said: Said, hung: float) -> None:
    """What hangs is named in time."""
    play.seconds[job] = said.at - hung
    assert play.seconds[job] <= NAMED_WITHIN


def check_no_alarm(play: Play, job: str, *, but: str = "") -> None:
    """In its whole life a job has said nothing of the kind, not even for a moment."""
    for said in play.history.of(job):
        assert not holds("Stalled")(said.status), said.status
        kinds = {item["type"] for item in alarms(said.status)}
        assert kinds <= {but}, said.status


def check_nothing_of_ours(pod: Manifest, template: Manifest) -> None:
    """A pod has the volumes, mounts and variables of its template, and those of every job's pod."""
    assert not [word for word in OURS if word in str(pod)]
    own = {item["name"] for item in template["volumes"]}
    more = {item["name"] for item in pod["volumes"]} - own
    assert all(re.match(r"kube-api-access-|dshm$|.*shm.*", name) for name in more), more


def longest_step(lab: Namespace, pod: str) -> float:
    """How long the longest step of a pod took, as its script measured it."""
    told = re.search(r"the longest ([\d.]+) s", lab.kubectl("logs", pod))
    assert told is not None
    return float(told[1])


def _registered(status: Manifest) -> str:
    said: str = condition(status, "Registered").get("message", "")
    return said
