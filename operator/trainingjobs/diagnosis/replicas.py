"""Do the replicas hold the same parameters, and does each rank have a device of its own?"""

from collections import defaultdict
from collections.abc import Sequence

from trainingjobs.diagnosis import words
from trainingjobs.diagnosis.data import MODEL_PARALLEL
from trainingjobs.diagnosis.outcome import Outcome, found
from trainingjobs.diagnosis.ranks import Group, Speaker
from trainingjobs.model.finding import Finding, Kind


def checksums(group: Group) -> Outcome:
    """Ranks whose parameters differ from those of most after the same step."""
    by_step: dict[int, list[Speaker]] = defaultdict(list)
    for speaker in group.speakers:
        checksum = speaker.report.checksum
        if checksum is not None and speaker.report.model.wrapper not in MODEL_PARALLEL:
            by_step[checksum.step].append(speaker)
    for step in sorted(by_step, reverse=True):
        parts = words.gathered(by_step[step], _value)
        if len(parts) > 1:
            return Outcome(findings=(_differ(group, step, parts),))
    return Outcome()


def devices(group: Group) -> Outcome:
    """Ranks of one pod that share an accelerator; what pods share is the cluster's business."""
    users: dict[tuple[int, str], list[Speaker]] = defaultdict(list)
    for speaker in group.live:
        if speaker.report.device:
            users[speaker.entry.instance, speaker.report.device].append(speaker)
    shared = [own for own in users.values() if len(own) > 1]
    if not shared:
        return Outcome()
    return Outcome(findings=(_shared(group, min(shared, key=lambda own: own[0].number)),))


def _value(speaker: Speaker) -> str:
    checksum = speaker.report.checksum
    return checksum.value if checksum else ""


def _differ(group: Group, step: int, parts: Sequence[list[Speaker]]) -> Finding:
    most = len(parts[0])
    few = [part for part in parts if len(part) < most] or parts
    odd = sorted((own for part in few for own in part), key=lambda own: own.number)
    numbers = [speaker.number for speaker in odd]
    whom = "each other" if len(few) == len(parts) else "the others"
    have = "has" if len(odd) == 1 else "have"
    said = (
        f"after step {step} {words.named(group, numbers)} {have} other parameters than {whom}: "
        "start from the same weights and call the wrapped model, not its .module"
    )
    return found(Kind.DIVERGED, numbers, said, odd[0].report.lines.wrap)


def _shared(group: Group, users: Sequence[Speaker]) -> Finding:
    numbers = [speaker.number for speaker in users]
    report = users[0].report
    said = (
        f"{words.named(group, numbers)} share the device {words.clip(report.device or '')}: call "
        "torch.cuda.set_device with LOCAL_RANK before anything else"
    )
    return found(Kind.SHARED_DEVICE, numbers, said, report.lines.init)
