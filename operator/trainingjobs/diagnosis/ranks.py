"""Where every rank of the group stands: all that the questions of the diagnosis may look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from trainingjobs.diagnosis import places
from trainingjobs.diagnosis.said import Heard, Said, unpacked
from trainingjobs.diagnosis.speakers import chosen, heard, patience
from trainingjobs.diagnosis.stages import gone, joined
from trainingjobs.diagnosis.world import world_size
from trainingjobs.model import names
from trainingjobs.model.finding import RankStanding
from trainingjobs.model.job import TrainingJob
from trainingjobs.model.observed import Observed, PodSeen
from trainingjobs.model.roll import Entry


class Speaker(NamedTuple):
    """One rank that was heard of: its process's last report, and its pod."""

    number: int
    pod: PodSeen
    entry: Heard
    report: Said
    overdue: datetime
    """When it counts as silent, if it is not heard of until then."""
    silent: bool
    """True when that time has come."""
    gone: bool
    """True when it takes no part any more: it left, or its pod ended."""
    joined: bool
    """True when it came through init_process_group."""
    heard: datetime
    """From when its silence counts."""

    @property
    def since(self) -> datetime:
        """When it came to its stage."""
        return self.entry.received - timedelta(seconds=self.report.stage_seconds)

    @property
    def moved(self) -> datetime:
        """Its last sign of progress."""
        return self.entry.received - timedelta(seconds=self.report.quiet_seconds)


@dataclass(frozen=True)
class Group:
    """The ranks of one attempt; what several questions ask for is worked out once."""

    job: TrainingJob
    now: datetime
    world: int
    pods: Mapping[int, PodSeen]
    by_number: Mapping[int, Speaker]
    """Those that were heard of, in ascending order."""

    @cached_property
    def speakers(self) -> tuple[Speaker, ...]:
        """The ranks that were heard of, ascending."""
        return tuple(self.by_number.values())

    @cached_property
    def reports(self) -> tuple[Said, ...]:
        """What they said last."""
        return tuple([speaker.report for speaker in self.speakers])

    @cached_property
    def live(self) -> tuple[Speaker, ...]:
        """Those that still take part."""
        return tuple([speaker for speaker in self.speakers if not speaker.gone])

    @cached_property
    def vocal(self) -> tuple[Speaker, ...]:
        """Those of them that are heard of in time."""
        return tuple([speaker for speaker in self.live if not speaker.silent])

    @cached_property
    def unheard(self) -> tuple[int, ...]:
        """The ranks that were never heard of, ascending."""
        if len(self.by_number) == self.world:
            return ()
        return tuple(number for number in range(self.world) if number not in self.by_number)

    def belongs(self, speaker: Speaker) -> bool:
        """True when it has joined this group, and no smaller one of its own."""
        return speaker.joined and speaker.report.world_size in {None, self.world}

    def instance(self, number: int) -> int:
        """The pod of a rank, heard of or not."""
        speaker = self.by_number.get(number)
        if speaker is not None:
            return speaker.entry.instance
        size = self.job.size
        return min(number * size // self.world, size - 1)

    def pod_name(self, number: int) -> str:
        """The name of a rank's pod, whether or not it exists."""
        return names.pod(self.job.name, self.instance(number))


def group(job: TrainingJob, seen: Observed, now: datetime) -> Group:
    """Who stands where; the processes of pods that are not there any more do not count."""
    pods = seen.of(job.attempt)
    there = (one for one in seen.roll.entries if _is_of(pods.get(one.instance), one))
    entries = list(map(unpacked, there))
    world = world_size(job, entries)
    ranks = chosen(entries, max(1, world // job.size), world, now)
    deaf = seen.roll.deaf_until
    speakers = {
        number: _speaker(number, pods[entry.instance], entry, heard(entry, deaf), now)
        for number, entry in sorted(ranks.items())
    }
    return Group(job=job, now=now, world=world, pods=pods, by_number=speakers)


def standings(group: Group) -> tuple[RankStanding, ...]:
    """All ranks, as people see them."""
    return tuple(
        _standing(speaker) if (speaker := group.by_number.get(number)) else _unheard(group, number)
        for number in range(group.world)
    )


def _is_of(pod: PodSeen | None, entry: Entry) -> bool:
    return pod is not None and pod.uid == entry.pod_uid


def _speaker(number: int, pod: PodSeen, entry: Heard, since: datetime, now: datetime) -> Speaker:
    report = entry.report
    left = pod.ended or gone(report)
    due = since + patience(entry.interval)
    silent = not left and now >= due
    return Speaker(number, pod, entry, report, due, silent, left, joined(report), since)


def _standing(speaker: Speaker) -> RankStanding:
    report = speaker.report
    return RankStanding(
        rank=speaker.number,
        instance=speaker.entry.instance,
        pod=speaker.pod.name,
        node=speaker.pod.node,
        stage=report.stage,
        since=speaker.since,
        step=report.steps if report.told.step is None else report.told.step,
        rate=report.rate,
        line=places.line(report),
        waits_in=report.waits_in,
        silent=speaker.silent,
    )


def _unheard(group: Group, number: int) -> RankStanding:
    instance = group.instance(number)
    pod = group.pods.get(instance)
    return RankStanding(
        rank=number,
        instance=instance,
        pod=pod.name if pod else group.pod_name(number),
        node=pod.node if pod else None,
    )
