"""Whether a rank works: what it uses of its machine tells, since its stack does not.

A process that waits for its accelerator keeps one core busy and does nothing, or waits for work
of its own that takes its time. Where one is idle outside of all collectives, it is the former.
"""

from datetime import timedelta

from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.said import Said
from trainingjobs.diagnosis.stages import trains

BUSY_CORES = 0.3
BUSY_BYTES = 1e6
_SPINNING_CORES = (0.8, 1.2)
_SPINNING_BYTES = 1e6
_OWN_WORK = frozenset({"backward", "forward", "wrap"})
"""Where a rank may wait for others, and may as well compute or compile."""
_OWN_DEVICE = frozenset({"block_until_ready", "cpu", "item", "synchronize", "tolist"})
"""Where a rank waits for its own accelerator, which may do its own work or a collective."""
_STEPS = 2
"""So many usual steps are no long work."""


def works(speaker: Speaker) -> bool:
    """True for a process that uses its machine."""
    report = speaker.report
    return report.cpu >= BUSY_CORES or report.io >= BUSY_BYTES


def waits(report: Said) -> bool:
    """True in a collective, where one waits for others and for nothing else."""
    return report.waits_in is not None and report.waits_in not in _OWN_DEVICE


def for_its_device(report: Said) -> bool:
    """True for a wait that may be for its own work as well."""
    return report.waits_in in _OWN_DEVICE


def spins(report: Said) -> bool:
    """True for a process that may only wait for its accelerator, which keeps one core busy."""
    least, most = _SPINNING_CORES
    spinning = least <= report.cpu <= most and report.io < _SPINNING_BYTES
    return report.device is not None and spinning


def idle(group: Group) -> bool:
    """True when some rank plainly does nothing, outside of all collectives."""
    return any(speaker.report.waits_in is None and not works(speaker) for speaker in group.vocal)


def busy(group: Group, *, elsewhere: bool) -> list[Speaker]:
    """Ranks that are seen to work: outside of all collectives, or in their own backward.

    Args:
        group: the ranks.
        elsewhere: whether some rank is plainly elsewhere, so that those who may wait for their
            accelerators wait for it.
    """
    return [speaker for speaker in group.vocal if _busy(speaker, elsewhere=elsewhere)]


def worked(speaker: Speaker) -> bool:
    """True when a rank was at a long work when it was last heard of: no step, and not idle."""
    report, interval = speaker.report, speaker.entry.interval
    step = timedelta(seconds=min(1 / report.rate, 1e9)) if report.rate > 0 else interval
    long = timedelta(seconds=report.quiet_seconds) > _STEPS * max(step, interval)
    return long and _busy(speaker, elsewhere=False)


def _busy(speaker: Speaker, *, elsewhere: bool) -> bool:
    report = speaker.report
    if for_its_device(report):
        return not elsewhere
    if not works(speaker) or (waits(report) and report.waits_in not in _OWN_WORK):
        return False
    # the first step compiles
    warm = waits(report) and trains(report)
    return not (spins(report) and (elsewhere or warm))
