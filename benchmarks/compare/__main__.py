"""Run the scenarios: each system in turn, in every round, on one API server a scenario and round.

    make bench BENCH_RUNS=5 SCENARIOS="1x500 fall" SYSTEMS="raw ours"

What is measured goes to a file line by line, so that a run that is cut goes on where it was.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.compare import results
from benchmarks.compare.peers import CERTIFICATES
from benchmarks.compare.scenarios import SCENARIOS
from benchmarks.compare.stand import Stand, stand
from benchmarks.compare.systems import BY_NAME
from benchmarks.compare.trial import trial
from localcluster import progress


async def measure(
    at: Stand, name: str, systems: list[str], number: int
) -> AsyncIterator[results.Measure]:
    """One scenario, one system after the other."""
    scenario = SCENARIOS[name]
    if scenario.before is not None:
        await scenario.before(at)
    for system in systems:
        began = time.monotonic()
        made = results.Measure(scenario=name, system=system, run=number, code=results.code(system))
        try:
            async with trial(at, BY_NAME[system]) as work:
                made.figures = await scenario.run(work)
                made.requests = work.requests()
        except Exception as error:  # noqa: BLE001 - one system's failure is a result too
            traceback.print_exception(error, limit=-4)
            made.error = f"{type(error).__name__}: {error}"[:500]
        took = progress.lasting(time.monotonic() - began)
        progress.say(f"  {name:10} run {number} {system:24} {results.line(made)}  [{took}]")
        yield made


async def keep(measures: AsyncIterator[results.Measure], file: results.File) -> None:
    """Write each down as it comes."""
    async for made in measures:
        file.add(made)


def chosen(name: str, number: int) -> list[str]:
    """The systems of a scenario, another one first in every round."""
    wanted = os.environ.get("SYSTEMS", "").split() or list(BY_NAME)
    systems = [it for it in SCENARIOS[name].systems if it in wanted]
    turn = number % max(len(systems), 1)
    return systems[turn:] + systems[:turn]


def rounds(names: list[str], runs: int, file: results.File) -> None:
    """All of it, round by round."""
    for number in range(1, runs + 1):
        for name in names:
            systems = [it for it in chosen(name, number) if not file.has(name, it, number)]
            if not systems:
                continue
            progress.say(f"{name}: {SCENARIOS[name].what}, run {number} of {runs}")
            home = Path(tempfile.mkdtemp(prefix="trainingjob-bench-"))
            with stand(home / "stand") as at:
                asyncio.run(keep(measure(at, name, systems, number), file))
            if not os.environ.get("BENCH_KEEP"):
                shutil.rmtree(home)


def main() -> int:
    """Measure what is asked for; 1 when something failed."""
    names = os.environ.get("SCENARIOS", "").split() or list(SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        progress.say(f"no such scenario: {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
        return 2
    # what was started is ended, however this ends
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with results.opened() as file:
        CERTIFICATES.mkdir(parents=True, exist_ok=True)
        rounds(names, int(os.environ.get("BENCH_RUNS") or 5), file)
    return int(file.failed)


if __name__ == "__main__":
    sys.exit(main())
