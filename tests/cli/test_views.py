"""What is shown of a job: tables, a screen, a paragraph."""

from typing import Any

import pytest

from builders import NOW, at
from cli.given import FAILED, FAILURE, a_pod, a_seen_job, an_event
from trainingjobs.cli.views import description, listing, pods, text, why

PROGRAM = "kubectl tj"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (119, "119s"),
        (130, "2m10s"),
        (600, "10m"),
        (10_799, "179m"),
        (5 * 3600 + 120, "5h2m"),
        (47 * 3600, "47h"),
        (3 * 86_400 + 7200, "3d2h"),
        (400 * 86_400, "400d"),
        (800 * 86_400, "2y"),
        (-3, "0s"),
    ],
)
def test_spans_are_kubectls(seconds: float, shown: str) -> None:
    assert text.span(seconds) == shown


def test_columns_stand_below_each_other() -> None:
    assert text.columns([("A", "B"), ("long", ""), ("x", "y")]) == ["A      B", "long", "x      y"]


def test_the_list_has_a_row_for_each_job_by_name() -> None:
    running = {"phase": "Running", "ready": "3/3", "progress": "40%", "restarts": 1}
    jobs = [a_seen_job(name="second"), a_seen_job(name="first", status=running)]
    assert listing.rows(jobs, NOW) == [
        ("NAME", "PHASE", "READY", "PROGRESS", "RESTARTS", "AGE"),
        ("first", "Running", "3/3", "40%", "1", "1s"),
        ("second", "Unseen", "0/3", "", "0", "1s"),
    ]


def test_the_wide_list_of_all_namespaces() -> None:
    status = {"phase": "Pending", "message": "no room", "masterAddress": "a:1"}
    header, row = listing.rows([a_seen_job(status=status)], NOW, wide=True, spaces=True)
    assert (header[0], row[0]) == ("NAMESPACE", "lab")
    assert row[7:] == ("PyTorch", "0", "a:1", "no room")


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ({"running": {}}, "Running"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "ImagePullBackOff"),
        ({"waiting": {}}, "Waiting"),
        ({"terminated": {"exitCode": 0}}, "Completed"),
        ({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, "OOMKilled (137)"),
        ({"terminated": {"exitCode": 3}}, "Error (3)"),
    ],
)
def test_a_pod_in_one_word(state: Any, word: str) -> None:
    assert pods.state(a_pod(0, state=state)) == word


def test_ranks_that_have_no_pod_are_shown_too() -> None:
    _, *rows = pods.rows(a_seen_job(), [a_pod(1)], NOW)
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("0", "mnist-master", "-"),
        ("1", "mnist-worker-0", "Running"),
        ("2", "mnist-worker-1", "-"),
    ]


def test_of_many_ranks_those_in_trouble_are_among_the_shown() -> None:
    troubled = {"rank": 900, "pod": "mnist-worker-899", "line": "train.py:7", "waitsIn": "barrier"}
    job = a_seen_job(1000, status={"troubledRanks": [troubled]})
    header, *rows = pods.rows(job, [a_pod(rank) for rank in range(1000)], NOW)
    assert len(rows) == pods.MAX_ROWS
    assert header[-1] == "STANDS AT"
    assert rows[-1][0] == "900"
    assert rows[-1][-1] == "barrier at train.py:7"


def test_a_failed_job_on_a_screen() -> None:
    found = dict(description.sections(a_seen_job(status=FAILED), [a_pod(1)], [], NOW, PROGRAM))
    assert found["Root cause"] == [
        "rank 1 (mnist-worker-0 on node-a): Error, exit code 1 at 2026-03-01T11:59:50Z",
        "  | Traceback",
        "  | FileNotFoundError: /data/shard-1",
        "ranks 0,2 fell after it, of its fall",
    ]
    assert found["Attempts that are over"][1].split() == [
        *("1", "5m0s".removesuffix("0s"), "RankFailed", "rank", "1", "1", "40")
    ]
    assert "Took:       10m" in found[""]
    assert found["What to do next"] == [
        "kubectl tj logs mnist --rank 1   # all that the first one said",
        "kubectl tj retry mnist           # run it anew, once the cause is gone",
    ]


def test_a_log_that_is_gone_is_not_recommended() -> None:
    commands = [command for command, _ in description.steps(a_seen_job(status=FAILED), [])]
    assert commands == ["retry mnist"]


def test_sections_without_lines_are_left_out() -> None:
    status = {"phase": "Succeeded", "ready": "3/3"}
    found = description.sections(a_seen_job(status=status), [], [], NOW, PROGRAM)
    assert [heading for heading, _ in found] == [""]


def test_events_that_say_the_same_are_one_row() -> None:
    events = [
        an_event("FailedScheduling", "no room", of="mnist-master"),
        an_event("PodsCreated", "created", kind="Normal"),
        an_event("FailedScheduling", "no room", of="mnist-worker-0"),
    ]
    found = dict(description.sections(a_seen_job(), [], events, NOW, PROGRAM))
    assert [line.split(maxsplit=3)[2:] for line in found["Events"][1:]] == [
        ["PodsCreated", "mnist                       created"],
        ["FailedScheduling", "mnist-master (and 1 more)   no room"],
    ]


PENDING: Any = {"phase": "Pending", "message": "0/1 nodes are available: insufficient memory"}
STALLED: Any = {
    "phase": "Running",
    "ready": "3/3",
    "message": "rank 1 stands at train.py:7",
    "conditions": [
        {
            "type": "Stalled",
            "status": "True",
            "message": "rank 1 stands at train.py:7",
            "lastTransitionTime": "2026-03-01T11:50:00Z",
        }
    ],
    "findings": [{"type": "Stalled", "message": "rank 1 stands at train.py:7"}],
}
BUSY = "no step since 11:50Z, but rank 0 works: it stands at train.py:40"


def conditions(**said: tuple[str, str, str]) -> list[dict[str, str]]:
    """By type: status, reason, message."""
    names = ("status", "reason", "message")
    return [{"type": name, **dict(zip(names, told, strict=True))} for name, told in said.items()]


DOUBTFUL = {
    "phase": "Running",
    "ready": "3/3",
    "conditions": conditions(
        Running=("True", "AllInstancesRunning", "3/3 instances run"),
        Stalled=("False", "RankBusy", BUSY),
    ),
}


SUSPENDED = {"attempt": 1, "reason": "Suspended"}
KILLED = {
    "attempt": 2,
    "attempts": [
        {
            "attempt": 1,
            "endTime": "2026-03-01T11:59:00Z",
            "reason": "Deleted",
            "failure": {"rank": 2, "pod": "mnist-worker-1", "reason": "Deleted"},
        }
    ],
}
CRASHED = {
    "attempt": 2,
    "attempts": [
        {
            "attempt": 1,
            "reason": "Error",
            "failure": {"rank": 0, "pod": "mnist-master", "exitCode": 0},
        }
    ],
}


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (a_seen_job(), ["no operator has looked at mnist, which was made 1s ago."]),
        (a_seen_job(managedBy="kueue"), ["is managed by kueue"]),
        (a_seen_job(status={"phase": "Suspended"}), ["suspended", "`kubectl tj resume mnist`"]),
        (a_seen_job(status=PENDING), ["is Pending (attempt 1", "insufficient memory."]),
        (
            a_seen_job(status={"phase": "Starting", "instances": {"starting": 2, "running": 1}}),
            ["2 starting, 1 running."],
        ),
        (
            a_seen_job(status={"phase": "Restarting", "nextAttemptTime": "2026-03-01T12:00:40Z"}),
            ["the next attempt starts in 40s"],
        ),
        (
            a_seen_job(status={"phase": "Running", "ready": "3/3", "progress": "40%"}),
            ["mnist runs: 3/3 instances, 40%, in attempt 1. nothing is known to be wrong."],
        ),
        (a_seen_job(status=STALLED), ["has stalled, as was seen 10m ago", "rank 1 stands at"]),
        (
            a_seen_job(status=FAILED),
            [
                "mnist has failed after 10m.",
                "its last lines: Traceback / FileNotFoundError: /data/shard-1.",
                "ranks 0,2 fell after it",
                "1 attempt ended before it",
            ],
        ),
        (a_seen_job(status={"phase": "Succeeded"}), ["has succeeded: nothing is wrong."]),
        (
            a_seen_job(status={"phase": "Running", "ready": "3/3", **KILLED}),
            ["in attempt 2.", "wrong. attempt 1 ended 60s ago: Deleted, rank 2 (mnist-worker-1)."],
        ),
        (
            a_seen_job(status={"phase": "Succeeded", **CRASHED}),
            ["attempt 1 ended: Error, rank 0 (mnist-master) with exit code 0."],
        ),
        (
            a_seen_job(status={"phase": "Succeeded", "attempt": 2, "attempts": [SUSPENDED]}),
            ["attempt 1 ended: Suspended."],
        ),
    ],
    ids=lambda value: value.phase or "unseen" if hasattr(value, "phase") else "",
)
def test_why(job: Any, words: list[str]) -> None:
    said = why.paragraph(job, [], NOW, PROGRAM)
    assert "\n" not in said
    for part in words:
        assert part in said


@pytest.mark.parametrize(
    ("began", "spec", "told", "heard"),
    [
        ("2026-03-01T11:53:00Z", {}, {}, False),
        ("2026-03-01T11:59:30Z", {}, {}, True),
        ("2026-03-01T11:53:00Z", {"rollCall": "Disabled"}, {}, True),
        ("2026-03-01T11:53:00Z", {}, {"Registered": ("False", "Joining", "1 of 3")}, True),
    ],
    ids=["silent", "has just begun", "off", "heard"],
)
def test_of_whom_nothing_is_heard_not_all_is_well(
    began: str, spec: dict[str, Any], told: dict[str, Any], *, heard: bool
) -> None:
    """As where a node's packet filter lets pods reach nobody."""
    status = {"phase": "Running", "runningTime": began, "conditions": conditions(**told)}
    said = why.paragraph(a_seen_job(status=status, **spec), [], NOW, PROGRAM)
    assert ("no rank has reported in the 7m since they run" in said) is not heard


def test_a_stall_is_told_once() -> None:
    assert why.paragraph(a_seen_job(status=STALLED), [], NOW, PROGRAM).count("train.py:7") == 1


def test_a_stall_that_may_be_none_is_told_with_its_reason() -> None:
    job = a_seen_job(status=DOUBTFUL)
    said = why.paragraph(job, [], NOW, PROGRAM)
    assert said == (
        f"mnist runs: 3/3 instances, in attempt 1. {BUSY}. reason: RankBusy (see docs/messages.md)."
    )
    found = dict(description.sections(job, [], [], NOW, PROGRAM))
    assert found["Findings"] == ["RankBusy", f"  {BUSY}"]


def test_a_job_that_steps_gives_no_reason() -> None:
    told = conditions(
        Running=("True", "AllInstancesRunning", "3/3 instances run"),
        Stalled=("False", "Progressing", ""),
    )
    job = a_seen_job(status={"phase": "Running", "ready": "3/3", "conditions": told})
    assert why.paragraph(job, [], NOW, PROGRAM).endswith("nothing is known to be wrong.")
    assert "Findings" not in dict(description.sections(job, [], [], NOW, PROGRAM))


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (
            {**PENDING, "conditions": conditions(Running=("False", "Unschedulable", ""))},
            "Unschedulable",
        ),
        ({"phase": "Pending", "conditions": conditions(Running=("False", "Pending", ""))}, ""),
        (
            {
                "phase": "Starting",
                "conditions": conditions(
                    Running=("True", "Starting", ""), Registered=("False", "RanksMissing", "")
                ),
            },
            "RanksMissing",
        ),
        (
            {
                **FAILED,
                "failure": {**FAILURE, "reason": "OOMKilled"},
                "conditions": conditions(Running=("False", "MaxRestartsExceeded", "")),
            },
            "MaxRestartsExceeded, OOMKilled",
        ),
        (
            {**STALLED, "conditions": [{**STALLED["conditions"][0], "reason": "Stalled"}]},
            "Stalled",
        ),
        ({"phase": "Running", "findings": [{"type": "Straggler", "message": "x"}]}, "Straggler"),
    ],
)
def test_why_ends_with_the_word_to_look_up(status: Any, reason: str) -> None:
    said = why.paragraph(a_seen_job(status=status), [], NOW, PROGRAM)
    assert said.endswith(f"reason: {reason} (see docs/messages.md).") or not reason
    assert ("reason:" in said) == bool(reason)


def test_a_queue_of_kueues_is_said_to_decide_nothing() -> None:
    job = a_seen_job(status={"phase": "Suspended"})
    job.metadata["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
    said = why.paragraph(job, [], NOW, PROGRAM)
    assert "it has the label of a Kueue queue, which nothing here reads" in said
    assert said.endswith("`kubectl tj resume mnist` lets it go on.")


def test_an_operator_that_should_have_looked_by_now_is_looked_for() -> None:
    assert "kubectl get deployments" in why.paragraph(a_seen_job(), [], at(60), PROGRAM)


def test_events_are_added_where_the_message_lacks_them() -> None:
    events = [
        an_event("FailedScheduling", "insufficient memory", of="mnist-master"),
        an_event("FailedMount", "configmap not found", of="mnist-worker-0"),
        an_event("FailedMount", "configmap not found", of="mnist-worker-1"),
        an_event("Pulled", "image is there", kind="Normal"),
    ]
    said = why.paragraph(a_seen_job(status=PENDING), events, NOW, PROGRAM)
    assert said.count("insufficient memory") == 1
    assert said.endswith("FailedMount of mnist-worker-1, 30s ago: configmap not found.")


def test_an_attempt_that_is_to_come_has_not_begun() -> None:
    """Between two attempts there is no start: the one before it is over."""
    status = {"phase": "Restarting", "attempt": 2, "message": "attempt 2 starts soon"}
    said = why.paragraph(a_seen_job(status=status), [], at(60), PROGRAM)
    assert "mnist is Restarting (attempt 2, not begun; the job was made " in said
