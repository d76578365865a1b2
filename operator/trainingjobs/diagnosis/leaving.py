"""Do the ranks leave together and in order?

Ranks that end in the middle of others' work had fewer batches. That the master writes the model
while the others have gone is no fault: only ranks that wait in a collective, or have done more
steps, show that somebody is missing.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from trainingjobs.diagnosis import guilt, words
from trainingjobs.diagnosis.outcome import Outcome, found
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.diagnosis.stages import parting
from trainingjobs.model.finding import Finding, Kind
from trainingjobs.model.report import Exchange, Stage

PATIENCE = timedelta(seconds=10)
_QUIET = 5.0
"""Seconds that a rank in a collective must have been quiet to be waiting, not passing."""


def early(group: Group) -> Outcome:
    """Ranks that finished while the others wait for them, or go on."""
    left = [speaker for speaker in group.speakers if speaker.joined and _finished(speaker)]
    if not left or not group.vocal:
        return Outcome()
    most = max(speaker.report.steps for speaker in left)
    behind = [speaker for speaker in group.vocal if _lacks(speaker, most)]
    if not behind:
        return Outcome()
    due = min(map(_when, left)) + PATIENCE
    if group.now < due:
        return Outcome(moments=(due,))
    return Outcome(findings=(_finding(group, left, behind),))


def undestroyed(group: Group) -> Outcome:
    """Ranks that ended well and left the process group standing."""
    careless = [
        speaker
        for speaker in group.speakers
        if speaker.report.destroyed is False and speaker.pod.succeeded
    ]
    if not careless:
        return Outcome()
    numbers = tuple(speaker.number for speaker in careless)
    verb = "has" if len(numbers) == 1 else "have"
    said = (
        f"{words.several(numbers)} {verb} not called destroy_process_group: call it as the last "
        "line of the script, so that no rank breaks the others' connections"
    )
    line = careless[0].report.lines.init
    return Outcome(findings=(found(Kind.UNDESTROYED, numbers, said, line),))


def _finished(speaker: Speaker) -> bool:
    """True when it ended by itself and without a failure."""
    return speaker.gone and speaker.report.error is None and not speaker.pod.failed


def _when(speaker: Speaker) -> datetime:
    """When it finished."""
    pod_end = speaker.pod.exit.finished if speaker.pod.exit else None
    told = speaker.report.stage in {Stage.LEFT, Stage.ENDED}
    return speaker.since if told or pod_end is None else pod_end


def _lacks(speaker: Speaker, most: int) -> bool:
    """True when a rank still counts on those that have left."""
    report = speaker.report
    if not speaker.joined or report.model.exchange is Exchange.NONE:
        return False
    waits = report.waits_in is not None and not parting(report)
    return report.steps > most or (waits and report.quiet_seconds >= _QUIET)


def _finding(group: Group, left: Sequence[Speaker], behind: Sequence[Speaker]) -> Finding:
    numbers = [speaker.number for speaker in left]
    steps = left[0].report.steps
    said = (
        f"{words.named(group, numbers)} finished after {steps} step{'' if steps == 1 else 's'} "
        f"while {words.together(behind)}: {guilt.EQUAL_BATCHES}"
    )
    line = left[0].report.lines.loader or left[0].report.lines.step
    return found(Kind.LEFT_EARLY, numbers, said, line)
