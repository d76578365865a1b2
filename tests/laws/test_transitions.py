"""The table of phases in docs/states.md, and that no job ever takes a step beside it.

A controller whose steps are written down nowhere skips some and leaves others stale. Here each
row is reached by a named case, and a job that does its worst is watched for any other step.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import initialize, invariant, rule

from builders import NOW, SITE, a_job, a_pod, at, ended, pending, seen, starting
from laws.test_life import Life
from laws.weather import RANKS
from trainingjobs.diagnosis.diagnose import diagnose
from trainingjobs.model.finding import Kind
from trainingjobs.model.observed import Observed, Problem, Trouble
from trainingjobs.model.status import Attempt, Condition, Phase, Status
from trainingjobs.plan.decide import decide

Step = tuple[str, str]
DOCUMENT = Path(__file__).parents[2] / "docs" / "states.md"
REASON = re.compile(r'"([A-Z][a-z]+(?:[A-Z][a-z]+)+)"')
NEW = "new"
"""The phase of a job that nobody has looked at yet."""
FALL = {"failureRules": [{"exitCodes": [3], "action": "Fail"}]}
REFUSED = Problem(trouble=Trouble.INVALID, name="mnist-master", message="image: Required value")


@dataclass(frozen=True, slots=True)
class Scene:
    """What is seen of the attempt of this number, and what the user asks for."""

    there: Callable[[int], Observed]
    spec: dict[str, Any]


def scene(*kinds: Any, problems: tuple[Problem, ...] = (), **spec: Any) -> Scene:
    """Three ranks, each made by one of these."""
    return Scene(
        lambda attempt: seen(
            *(replace(kind(rank), attempt=attempt) for rank, kind in enumerate(kinds)),
            problems=problems,
        ),
        spec,
    )


def done(rank: int) -> Any:
    return ended(rank, 0)


def fell(rank: int) -> Any:
    return ended(rank, 3, reason="Error")


def silent(rank: int) -> Any:
    return a_pod(rank, phase="Unknown", running=False)


def nameless(rank: int) -> Any:
    return starting(rank, reason="InvalidImageName", message="bad name")


OFF = scene(a_pod, a_pod, a_pod, suspend=True)
WAITS = scene(pending, pending, pending)
PULLS = scene(starting, starting, starting)
RUNS = scene(a_pod, a_pod, a_pod)
FALLS = scene(a_pod, fell, a_pod)
DONE = scene(done, done, done)
GIVEN_UP = scene(a_pod, fell, a_pod, **FALL)
BAD = scene(problems=(REFUSED,))

SCENES: dict[Step, Scene] = {
    (NEW, "Suspended"): scene(suspend=True),
    (NEW, "Pending"): WAITS,
    (NEW, "Starting"): PULLS,
    (NEW, "Running"): RUNS,
    (NEW, "Restarting"): FALLS,
    (NEW, "Succeeded"): DONE,
    (NEW, "Failed"): BAD,
    ("Suspended", "Pending"): WAITS,
    ("Suspended", "Starting"): PULLS,
    ("Suspended", "Running"): RUNS,
    ("Suspended", "Restarting"): FALLS,
    ("Suspended", "Succeeded"): DONE,
    ("Suspended", "Failed"): BAD,
    ("Pending", "Suspended"): OFF,
    ("Pending", "Starting"): PULLS,
    ("Pending", "Running"): RUNS,
    ("Pending", "Restarting"): scene(pending, fell, pending),
    ("Pending", "Succeeded"): scene(done, pending, pending, successPolicy="Master"),
    ("Pending", "Failed"): scene(a_pod, a_pod, pending, startupTimeoutSeconds=60),
    ("Starting", "Suspended"): OFF,
    ("Starting", "Running"): RUNS,
    ("Starting", "Restarting"): scene(starting, fell, starting),
    ("Starting", "Succeeded"): DONE,
    ("Starting", "Failed"): scene(a_pod, a_pod, nameless),
    ("Running", "Suspended"): OFF,
    ("Running", "Starting"): scene(a_pod, silent, a_pod),
    ("Running", "Restarting"): FALLS,
    ("Running", "Succeeded"): DONE,
    ("Running", "Failed"): scene(a_pod, fell, a_pod, maxRestarts=0),
    ("Restarting", "Suspended"): scene(suspend=True),
    ("Restarting", "Pending"): WAITS,
    ("Restarting", "Starting"): PULLS,
    ("Restarting", "Running"): RUNS,
    ("Restarting", "Succeeded"): DONE,
    ("Restarting", "Failed"): scene(a_pod, a_pod, a_pod, activeDeadlineSeconds=60),
}


def before(phase: str) -> Status:
    """The status of a job that has been in this phase for a while."""
    if phase == NEW:
        return Status()
    created = "True" if phase in {"Starting", "Running"} else "False"
    fact = Condition(type="PodsCreated", status=created, reason="x", last_transition_time=at(-90))
    known = Status(phase=Phase(phase), attempt=1, conditions=[fact])
    again = {"Suspended": "Suspended", "Restarting": "Error"}.get(phase)
    times: dict[str, Any] = {"start_time": at(-100), "attempt_start_time": at(-100)}
    if again is None:
        return known.model_copy(update=times)
    past = Attempt(attempt=1, start_time=at(-100), end_time=at(-1), reason=again)
    start = None if phase == "Suspended" else at(-100)
    return known.model_copy(update={"attempt": 2, "attempts": [past], "start_time": start})


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading of the document."""
    section = DOCUMENT.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    return lines[2:]


STEPS = {(old, new): when for old, new, when in table("Steps from phase to phase")}
TRUTHS = {row[0]: row[1:] for row in table("Conditions")}
CONDITIONS = ("PodsCreated", "Running", "Suspended", "Succeeded", "Failed", "Finished")


def test_the_document_has_the_same_steps() -> None:
    assert list(STEPS) == list(SCENES)
    assert {row[0] for row in table("Phases")} == set(TRUTHS) == {phase.value for phase in Phase}


def test_every_reason_of_ours_is_explained() -> None:
    """All words of that form in the core, but for fields of pods and others say."""
    core = Path(decide.__code__.co_filename).parents[1]
    files = [*(core / "plan").glob("*.py"), *(core / "status").glob("*.py")]
    text = "".join(path.read_text() for path in files)
    words = {*REASON.findall(text), *(trouble.value for trouble in Trouble)}
    by_hand = DOCUMENT.read_text().partition("<!-- generated: begin -->")[0]
    explained = set(re.findall(r"\w+", by_hand))
    assert words - explained == {
        "ClusterFirstWithHostNet",
        "ErrImagePull",
        "FallbackToLogsOnError",
        "ImagePullBackOff",
        "ModuleNotFoundError",
    }


def test_every_reason_and_kind_of_the_roll_call_is_explained() -> None:
    """All words that stand for a fact in the diagnosis, and all kinds of findings."""
    files = (Path(diagnose.__code__.co_filename).parent).glob("*.py")
    found = [re.findall(r'^[A-Z_]+ = "([A-Z]\w+)"$', it.read_text(), re.MULTILINE) for it in files]
    words = {*chain.from_iterable(found), *(kind.value for kind in Kind)}
    assert len(words) > 20
    section = DOCUMENT.read_text().partition("## What the roll call says\n")[2]
    explained = re.findall(r"\w+", section.partition("\n## Events")[0])
    assert words <= set(explained), words - set(explained)


@pytest.mark.parametrize(
    "step", SCENES, ids=[f"{old}-{new}-{STEPS.get((old, new))}" for old, new in SCENES]
)
def test_every_step_of_the_table_is_taken(step: Step) -> None:
    old, new = step
    status = before(old)
    job = a_job(status=status, **SCENES[step].spec)
    told = decide(job, SCENES[step].there(job.attempt), NOW, SITE).status
    assert told.phase == new, told.message
    assert fits(told)


def fits(status: Status) -> bool:
    """True when the conditions are those of the phase."""
    found = {item.type: item.status for item in status.conditions}
    wanted = dict(zip(CONDITIONS, TRUTHS[str(status.phase)], strict=True))
    return all(truth in {"any", found.get(name)} for name, truth in wanted.items())


class Steps(Life):
    """A job that does its worst, watched for a step that is not in the table."""

    @initialize()
    def begin(self) -> None:
        """Nothing has been told yet."""
        self.phase, self.read = NEW, 0

    @rule(rank=RANKS)
    def fall_silent(self, rank: int) -> None:
        """The kubelet of a pod's node is not heard of any more."""
        self.world._change(rank, phase="Unknown", running=False)  # noqa: SLF001

    @invariant()
    def each_step_is_in_the_table(self) -> None:
        """All statuses since the last look, one after the other."""
        told = [*self.world.writes[self.read :], self.world.job.status]
        self.read = len(self.world.writes)
        for status in told:
            if status.phase is None:
                continue
            assert status.phase == self.phase or (self.phase, status.phase.value) in SCENES
            assert fits(status)
            self.phase = status.phase.value


Steps.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
test_steps = Steps.TestCase
