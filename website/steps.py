"""What the tour goes through: each command as it stands on the page, in this order."""

from dataclasses import dataclass
from typing import Final

IMAGE: Final = "localhost/trainingjob-trainer:dev"
PYTHON: Final = "/usr/bin/python3"
ROOT: Final = "../.."
_SEND: Final = f"kubectl tj submit train.py -n 3 --user 1000 --image {IMAGE}"
_NARROW: Final = "cut -c-120"


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and what a reader should know before it; what only the recorder needs."""

    says: str
    command: str
    after: str = ""
    """Waits until there is something to see; not shown."""
    folder: str = ""
    """Where it is run, seen from the tour's own folder."""
    until: str = ""
    """What it says when it is ready; then Ctrl-C ends it, as it would stay for ever."""


INTRO: Final = """# A tour: from nothing to a finished job, and two jobs that went wrong

Played by `make tour` on the local cluster, two cores for everything, and written down as it was
said, with the seconds that each command took. The script is [tour/train.py](tour/train.py): 40
lines of plain `torch.distributed`, and nothing in it knows of us. The [times](#times) of all
commands are at the end.
"""
STEPS: Final = (
    Step(
        "## From nothing to a finished job\n\nThe operator, whose image the cluster has "
        "([how it comes there](install.md)), from a checkout:",
        "helm install trainingjob-operator charts/trainingjob-operator -n trainingjob-system "
        "--create-namespace --set image.repository=localhost/trainingjob-operator "
        "--set-string image.tag=$TAG --wait",
        folder=ROOT,
    ),
    Step(
        "The command line, into a virtual environment that is active:",
        "pip install -q '.[cli]'",
        folder=ROOT,
    ),
    Step(
        "Three ranks of a script, without an image of its own. Their lines follow:",
        f"{_SEND} --name train",
    ),
    Step("And what became of it:", "kubectl tj describe train"),
    Step("Among all that there is:", "kubectl tj list"),
    Step(
        "## Before it\n\nIs all there that a job needs, and do pods that are run find each other?",
        f"kubectl tj doctor --try --image {IMAGE} --user 1000",
    ),
    Step(
        "What the operator makes of a job, without asking it:",
        "kubectl tj explain train --rank 1",
    ),
    Step(
        "## A worker is killed\n\nThe same again, in the background, and longer:",
        f"{_SEND} --name killed --env STEPS=300 --no-wait",
        "kubectl tj wait killed --for Running -q && sleep 6",
    ),
    Step(
        "Somebody takes a pod away:", "kubectl delete pod killed-worker-1 --wait=false", "sleep 2"
    ),
    Step("What happened? One command:", "kubectl tj why killed"),
    Step("It goes on by itself, as a whole group:", "kubectl tj wait killed"),
    Step("Both attempts, and what they cost:", "kubectl tj describe killed"),
    Step(
        "## A rank hangs\n\nNo process ends, no error is printed, and the logs just stop:",
        f"{_SEND} --name hangs --env HANG_RANK=2 --no-wait",
    ),
    Step(
        "A stall is five minutes without a step, if nobody says otherwise; here 20 seconds do:",
        'kubectl patch trainingjob hangs --type merge -p \'{"spec":{"stallTimeoutSeconds":20}}\'',
    ),
    Step(
        "Until the operator says so:",
        "kubectl wait trainingjob/hangs --for=condition=Stalled --timeout=300s",
    ),
    Step("Which rank, and at which line? One command:", "kubectl tj why hangs"),
    Step("And where all of them stand, as they reported last:", "kubectl tj stacks hangs"),
    Step("All of it on one screen, live at a terminal:", "kubectl tj top hangs"),
    Step("What they had said until then:", "kubectl tj logs hangs --tail 1"),
    Step(
        "The operator's own page has it too; Ctrl-C ends the way to it:",
        "kubectl tj ui hangs",
        until="http://",
    ),
    Step("It is not ours to guess whether the disk comes back:", "kubectl tj cancel hangs"),
    Step(
        "## A job is stopped, made smaller, and run once more\n\nThe room is needed elsewhere:",
        f"{_SEND} --name late --no-wait",
        "kubectl tj wait late --for Running -q",
    ),
    Step("All pods go, the job stays:", "kubectl tj suspend late"),
    Step("Two pods will do:", "kubectl tj scale late 2"),
    Step("And on:", "kubectl tj resume late", "kubectl tj wait late -q"),
    Step("The same once more, as a job of its own:", "kubectl tj retry late"),
    Step(
        "## Without a cluster\n\nThe first example in three processes of this machine, with the "
        "environment of their pods, in the project's own folder:",
        f"trainingjob run-local -n 3 --python {PYTHON} examples/01-ddp/train.py | {_NARROW}",
        folder=ROOT,
    ),
    Step(
        "The second starts its processes itself, two in each of two instances:",
        "trainingjob run-local -n 2 --processes 2 --no-torchrun "
        f"--python {PYTHON} examples/02-spawn/train.py | {_NARROW}",
        folder=ROOT,
    ),
    Step(
        "A job of Kubeflow's:",
        "trainingjob convert tests/convert/inputs/pytorchjob.yaml",
        folder=ROOT,
    ),
    Step("What a shell asks for when Tab is pressed:", "trainingjob completion bash | head -n 3"),
)
