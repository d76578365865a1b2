"""Jobs with a story, for the page's tests and its screenshots."""

import math
import time
from typing import Any

from browser.worlds import World, ago

WIDE = {"file": "train.py", "line": 31, "function": "main", "user": True}
HANGS = {"file": "train.py", "line": 17, "function": "load", "user": True}


def condition(kind: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": ago(900),
        "observedGeneration": 1,
    }


def training(step: int, loss: float | str, **others: Any) -> dict[str, Any]:
    return {
        "step": step,
        "countedBy": "Script",
        "totalSteps": 10_000,
        "stepsPerSecond": "5.1",
        "etaSeconds": (10_000 - step) // 5,
        "epoch": "1.2",
        "metrics": {"loss": str(loss), "accuracy": "0.81"},
        **others,
    }


def running(world: World, name: str = "mnist", ranks: int = 8, step: int = 4_100) -> None:
    """A job that trains, with what was before."""
    world.pods(name, ranks)
    status: dict[str, Any] = {
        "phase": "Running",
        "ready": f"{ranks}/{ranks}",
        "progress": f"{step // 100}%",
        "startTime": ago(1_880),
        "attemptStartTime": ago(1_000),
        "attempt": 1,
        "restarts": 0,
        "goodput": {"ratio": "87%"},
        "training": training(step, 0.41),
        "conditions": [
            condition("Running", "True", "AllInstancesRunning"),
            condition("Registered", "True", "AllRanksJoined", f"{ranks} of {ranks} ranks joined"),
        ],
    }
    uid = world.job(name, ranks=ranks, **status)
    now = time.time()
    for point in range(90):
        at, before = now - 10 * (90 - point), step * (point + 1) // 91
        loss = round(0.35 + 2 * math.exp(-point / 20) + 0.06 * math.sin(point * 1.7), 4)
        body = {"metadata": {"uid": uid}, "status": {"training": training(before, loss)}}
        body["status"]["training"]["stepsPerSecond"] = f"{5 + 0.3 * math.sin(point / 3):.2f}"
        world.curves.note(at, [body])
    for rank in range(ranks):
        said = {"stage": "stepping", "stageSeconds": 900, "steps": step, "rate": 5.1}
        world.says(name, rank, ranks, **said, frames=[WIDE], number=step)


def stalled(world: World, name: str = "bert", ranks: int = 8, guilty: int = 3) -> str:
    """A job that stands: one rank loads for ever, the others wait for it; the sentence of that."""
    words = (
        f"rank {guilty} ({name}-worker-{guilty - 1} on node-3) stands at train.py:17 for 7m; "
        "the others wait in all_reduce at train.py:31"
    )
    world.pods(name, ranks)
    found = {
        "type": "Stalled",
        "ranks": str(guilty),
        "message": words,
        "line": "train.py:17",
        "since": ago(400),
    }
    world.job(
        name,
        ranks=ranks,
        phase="Running",
        ready=f"{ranks}/{ranks}",
        progress="12%",
        startTime=ago(1_500),
        attemptStartTime=ago(1_500),
        message=words,
        training=training(1_200, 1.2),
        findings=[found],
        conditions=[condition("Stalled", "True", "Stalled", words)],
    )
    for rank in range(ranks):
        stands = rank == guilty
        said: dict[str, Any] = {"stage": "stepping", "stageSeconds": 1_400, "steps": 1_200 - stands}
        said |= {"quietSeconds": 420, "longestQuiet": 2, "frames": [HANGS if stands else WIDE]}
        world.says(name, rank, ranks, **said, waitsIn=None if stands else "all_reduce")
    return words


def failed(world: World, name: str = "llama") -> None:
    """A job that has used up its restarts."""
    cause = {
        "rank": 2,
        "pod": f"{name}-worker-1",
        "node": "node-1",
        "exitCode": 137,
        "reason": "OOMKilled",
        "message": "step 811\nstep 812\ntorch.OutOfMemoryError: out of memory at train.py:44",
        "time": ago(600),
        "victims": "0-1,3",
    }
    past = [
        {
            "attempt": number,
            "startTime": ago(1_800 - 400 * (number - 1)),
            "endTime": ago(1_800 - 400 * number + 20),
            "reason": "OOMKilled",
            "failure": cause,
            "step": 812,
        }
        for number in (1, 2)
    ]
    world.job(
        name,
        phase="Failed",
        ready="0/4",
        progress="8%",
        restarts=3,
        attempt=3,
        startTime=ago(1_800),
        attemptStartTime=ago(1_000),
        completionTime=ago(600),
        message=f"rank 2 ({name}-worker-1) was killed for its memory for the third time",
        failure=cause,
        attempts=past,
        conditions=[condition("Failed", "True", "MaxRestartsExceeded", "no restarts are left")],
    )


HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c \u200b\u2066hidden\u2069 "
    "javascript:alert(1) ]]>&lt;b&gt;"
)


def hostile(world: World, name: str = "evil") -> None:
    """A job whose every word was chosen by somebody who means harm."""
    failure = {"rank": 0, "pod": HOSTILE, "reason": HOSTILE, "message": HOSTILE + "\n" + HOSTILE}
    found = {"type": HOSTILE, "ranks": "0", "message": HOSTILE, "line": HOSTILE, "since": ago(5)}
    told = training(3, "NaN", metrics={HOSTILE: "1", "loss": "NaN", "constructor": "2"})
    world.job(
        name,
        phase=HOSTILE,
        ready=HOSTILE,
        progress=HOSTILE,
        message=HOSTILE,
        training=told,
        failure={**failure, "exitCode": 1, "node": HOSTILE, "victims": HOSTILE},
        findings=[found],
        attempts=[
            {"attempt": 1, "endTime": ago(5), "reason": HOSTILE, "failure": failure},
            {"attempt": 2, "startTime": "no time", "endTime": HOSTILE, "reason": HOSTILE},
        ],
        conditions=[condition(HOSTILE, "True", HOSTILE, HOSTILE)],
    )
    world.pods(name, 1)
    said = {"file": HOSTILE[:200], "line": 1, "function": HOSTILE[:100], "user": True}
    world.says(name, 0, 1, stage="stepping", frames=[said], waitsIn=HOSTILE[:100])
