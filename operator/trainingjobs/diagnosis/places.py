"""Where a process stands: the innermost line of the user's, and what it waits for there."""

from trainingjobs.diagnosis.said import Said
from trainingjobs.model.report import Frame

_LOADER = "dataloader.py"
DATA_LOADER = "its data loader"


def innermost(report: Said) -> Frame | None:
    """The innermost frame of the user's."""
    for frame in report.frames:
        if frame.user:
            return frame
    return None


def line(report: Said) -> str | None:
    """The innermost line of the user's, as `train.py:12`."""
    frame = innermost(report)
    return f"{frame.file}:{frame.line}" if frame else None


def loads(report: Said) -> bool:
    """True when the main thread waits for a batch."""
    return any(frame.file.endswith(_LOADER) for frame in report.frames)


def place(report: Said) -> tuple[str, str]:
    """What it waits in, and its line: equal for ranks that stand together."""
    return report.waits_in or "", line(report) or ""
