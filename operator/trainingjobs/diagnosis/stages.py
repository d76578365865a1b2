"""How far one process has come in its group, by its own report.

The stage alone does not tell whether there is a group: a script without one steps as well,
and a process that ends may never have joined.
"""

from trainingjobs.model.report import Exchange, Report, Stage

_ORDER = {stage: place for place, stage in enumerate(Stage)}
_JOINING = _ORDER[Stage.JOINING]
_GONE = frozenset({Stage.LEFT, Stage.ENDED})
_SURE = frozenset({Stage.JOINED, Stage.LEFT})


def reached(report: Report, stage: Stage) -> bool:
    """True when the process has come as far as this stage, or farther."""
    return _ORDER[report.stage] >= _ORDER[stage]


def gone(report: Report) -> bool:
    """True when the process takes no part any more."""
    return report.stage in _GONE


def joined(report: Report) -> bool:
    """True when init_process_group came back."""
    stage = report.stage
    if stage in _SURE:
        return True
    if stage is Stage.ENDED:
        return report.destroyed is not None
    return _ORDER[stage] > _JOINING and (
        report.lines.init is not None or report.sequence is not None
    )


def arrived(report: Report) -> bool:
    """True when it has called init_process_group, whether or not that came back."""
    return report.stage is Stage.JOINING or joined(report)


def trains(report: Report) -> bool:
    """True when there is a step of it, with or without a group."""
    return report.steps > 0 or report.told.step is not None


def bound(report: Report) -> bool:
    """True when its model's gradients are exchanged, so that no rank steps without the others."""
    model = report.model
    return model.wrapper is not None or model.exchange in {Exchange.WRAPPED, Exchange.MUCH}
