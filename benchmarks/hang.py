"""How long it takes until a rank that hangs is named, on the local cluster with real pods.

    make deploy && make bench-hang        # BENCH_RUNS=5

One job at a time: a group of three, one rank of which stops or leaves out a collective. The figure
is the time from the rank's own word before it hangs until a watch reads its name and its line on
the resource, less `stallTimeoutSeconds`. It goes to the results of `make bench`.
"""

import os
import sys

from benchmarks.compare import results
from e2e import deployed, harness
from e2e.harness import Namespace
from e2e.rollcall import scenarios
from e2e.rollcall.history import History, Said, found, holds
from localcluster import progress

KINDS = {"a collective left out": "skip", "a process stopped": "stopped"}


def main() -> int:
    """Measure; 1 when something else was named."""
    cluster = harness.find()
    operator = deployed.find(cluster)
    operator.wait_until_ready()
    lab = cluster.new_namespace("hang")
    try:
        with results.opened() as file:
            measure(lab, file)
    finally:
        cluster.kubectl("delete", "namespace", lab.name, "--wait=false")
    return int(file.failed)


def measure(lab: Namespace, file: results.File) -> None:
    """All runs that were not measured yet."""
    lab.apply(scenarios.config_map())
    history = History(lab)
    history.begin()
    for number in range(1, int(os.environ.get("BENCH_RUNS") or 5) + 1):
        if not file.has("hang", "ours", number):
            file.add(one(lab, history, number))


def one(lab: Namespace, history: History, number: int) -> results.Measure:
    """One run of each kind."""
    made = results.Measure(scenario="hang", system="ours", run=number, code=results.code("ours"))
    for kind, script in KINDS.items():
        name = f"{script}-{number}"
        job = scenarios.job(script, "")
        job["metadata"]["name"] = name
        lab.apply(job)
        hung = lab.told_at(f"{name}-worker-0", "hangs at")
        said = history.first(name, holds("Stalled"))
        lab.kubectl("delete", "trainingjob", name)
        if not _right(said, script):
            made.error = f"{name}: {said.status.get('message')}"
            return made
        made.figures[f"named after the timeout, {kind}"] = said.at - hung - scenarios.STALL
    progress.say(f"  hang run {number}: {results.line(made)}")
    return made


def _right(said: Said, script: str) -> bool:
    """Whether it is rank 1, at the line where it hangs, or in the loop where it was stopped."""
    stall = found(said.status, "Stalled")
    file, _, number = stall.get("line", "").partition(":")
    if script == "stopped":
        begin, end = scenarios.numbers(script, "the loop begins", "the loop ends")
        there = number.isdigit() and begin <= int(number) <= end
    else:
        there = stall.get("line") == scenarios.line(script)
    return stall.get("ranks") == "1" and file == f"{script}.py" and there


if __name__ == "__main__":
    sys.exit(main())
