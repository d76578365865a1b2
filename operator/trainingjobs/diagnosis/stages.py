"""How far one process has come in its group, by its own report.

The stage alone does not tell whether there is a group: a script without one steps as well,
and a process that ends may never have joined.
"""

from trainingjobs.diagnosis.said import Said
from trainingjobs.model.report import Exchange, Report, Stage

_FAREWELL = ("destroy", "shutdown", "abort")
_SURE = (Stage.JOINED, Stage.LEFT)
_BEFORE = (Stage.SPAWNED, Stage.JOINING)


def gone(report: Report | Said) -> bool:
    """True when the process takes no part any more; not while it is about to leave."""
    stage = report.stage
    return stage is Stage.ENDED or (stage is Stage.LEFT and not parting(report))


def parting(report: Report | Said) -> bool:
    """True when the main thread is taking leave of the group, which may hang as all else."""
    return report.waits_in is not None and report.waits_in.startswith(_FAREWELL)


def joined(report: Report | Said) -> bool:
    """True when init_process_group came back."""
    stage = report.stage
    if stage in _SURE:
        return True
    if stage is Stage.ENDED:
        return report.destroyed is not None
    asked = report.lines.init is not None or report.sequence is not None
    return asked and stage not in _BEFORE


def arrived(report: Report | Said) -> bool:
    """True when it has called init_process_group, whether or not that came back."""
    return report.stage is Stage.JOINING or joined(report)


def trains(report: Report | Said) -> bool:
    """True when there is a step of it, with or without a group."""
    return report.steps > 0 or report.told.step is not None


def bound(report: Said) -> bool:
    """True when its model's gradients are exchanged, so that no rank steps without the others."""
    model = report.model
    return model.wrapper is not None or model.exchange in {Exchange.WRAPPED, Exchange.MUCH}
