"""A folder like the checkout, in which a reader stands, with files of his own beside it."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from pages.blocks import ROOT

INPUTS = ROOT / "tests" / "convert" / "inputs"
STAND_INS = {
    "job.yaml": ROOT / "examples/01-ddp/job.yaml",
    "train.py": ROOT / "examples/01-ddp/train.py",
    "pytorchjob.yaml": INPUTS / "pytorchjob.yaml",
    "tfjob.yaml": INPUTS / "tfjob.yaml",
    "mpijob.yaml": INPUTS / "mpijob-v2beta1.yaml",
    "trainjob.yaml": INPUTS / "trainjob-runtime.yaml",
    "mnist.yaml": ROOT / "examples/01-ddp/job.yaml",
    **dict.fromkeys(("keras.yaml", "pi.yaml", "tune.yaml"), ROOT / "examples/01-ddp/job.yaml"),
    "ring.yaml": INPUTS / "jobset.yaml",
}
"""Files of the reader's own that pages speak of."""


def lay(folder: Path, own: Iterable[str] = STAND_INS) -> Path:
    """Lay it out; files of his own are copies, as a page's line may write to one."""
    folder.mkdir(exist_ok=True)
    for there in ROOT.iterdir():
        (folder / there.name).symlink_to(there)
    for name in own:
        shutil.copy(STAND_INS[name], folder / name)
    return folder
