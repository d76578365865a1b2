"""A law of all that is told: whatever pods and processes say, it moves no cursor and hides nothing.

Kubelets, other controllers, the API server and the processes of a job put words into what the
operator sees. On the status and in events there are none but those that can be seen.
"""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import NOW, REPORTING, a_job, at, seen
from cluster.raw import Raw, container, raw_pod, terminated
from diagnosis.given import an_entry
from trainingjobs.cluster import pods
from trainingjobs.cluster.status import written
from trainingjobs.model.observed import PodSeen, Problem, Trouble
from trainingjobs.model.report import Report, Stage
from trainingjobs.model.roll import Entry, Roll
from trainingjobs.plan.decide import decide
from trainingjobs.status.notices import notices

WORDS = st.text(
    "ab <>&\x00\x1b[];0\x07\x9b\u202e\u2066\u200b\ufeff\r\n\t\u2028\U000e0041", max_size=80
)
LINES = ("init", "sampler", "loader", "wrap", "step", "destroy")


@st.composite
def pods_seen(draw: st.DrawFn, rank: int) -> PodSeen:
    """A pod of which a cluster says anything."""
    word, more = draw(WORDS), draw(WORDS)
    way = draw(st.sampled_from(sorted(WAYS)))
    status: Raw = WAYS[way](word, more)
    found = pods.seen(raw_pod(rank, status=status, spec={"nodeName": "node-a"}))
    assert found is not None
    return replace(found, noticed_end=at(-60) if found.ended else None)


WAYS: dict[str, Any] = {
    "waits": lambda word, more: {
        "containerStatuses": [container(waiting={"reason": word, "message": more})]
    },
    "fell": lambda word, more: {
        "phase": "Failed",
        "containerStatuses": [container(terminated=terminated(1, word, more))],
    },
    "has no room": lambda word, more: {
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": word, "message": more}]
    },
    "was disrupted": lambda word, more: {
        "phase": "Failed",
        "reason": word,
        "message": more,
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": word}],
    },
    "runs": lambda *_: {
        "phase": "Running",
        "containerStatuses": [container(running={"startedAt": "2026-03-01T11:00:00Z"})],
    },
}


@st.composite
def entries(draw: st.DrawFn, rank: int) -> Entry:
    """What a process of that rank says: all that has words in it."""
    word = draw(WORDS)
    frame = {"file": word, "line": 7, "function": word, "user": True}
    said = {
        "version": 1,
        "process": f"p{rank}",
        "rank": rank,
        "stage": draw(st.sampled_from([it.value for it in Stage])),
        "frames": [frame] * draw(st.integers(0, 2)),
        "quietSeconds": draw(st.sampled_from([0, 4000])),
        "waitsIn": draw(st.none() | WORDS),
        "device": draw(st.none() | WORDS),
        "lines": dict.fromkeys(LINES, word),
        "data": {"sampler": "default", "samples": 10, "fingerprint": word},
        "model": {"wrapper": word, "exchange": "none"},
        "error": draw(st.none() | st.just({"type": word, "message": word, "frame": frame})),
    }
    return an_entry(Report.model_validate(said))


def texts(value: Any) -> list[str]:
    """All words of an object, its keys as well."""
    if isinstance(value, dict):
        return [text for item in (*value, *value.values()) for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


@settings(deadline=None, max_examples=150)
@given(data=st.data(), trouble=st.none() | st.sampled_from([*Trouble]))
def test_whatever_is_said_what_is_told_can_be_seen(
    data: st.DataObject, trouble: Trouble | None
) -> None:
    job = a_job(3, maxRestarts=1)
    there = [data.draw(pods_seen(rank)) for rank in range(3)]
    told = [data.draw(entries(rank)) for rank in range(3)]
    problems = (
        () if trouble is None else (Problem(trouble=trouble, name="x", message=data.draw(WORDS)),)
    )
    view = seen(*there, roll=Roll(entries=tuple(told)), problems=problems)
    for moment in (NOW, at(5), at(700)):
        decision = decide(job, view, moment, REPORTING)
        said = [*texts(written(decision.status))]
        said += [it.message for it in notices(job.status, decision.status)]
        assert [it for it in said if not all(line.isprintable() for line in it.split("\n"))] == []
        job = replace(job, status=decision.status)
