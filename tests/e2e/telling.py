"""One rank that tells each of its steps, a second apart: `STEPS` of them."""

import os
import time

import trainingjob

STEPS = int(os.environ["STEPS"])
for step in range(1, STEPS + 1):
    trainingjob.report(step=step, total=STEPS)
    print(f"step {step}", flush=True)  # noqa: T201 - the log is looked at
    time.sleep(1)
