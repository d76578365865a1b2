"""Pod groups in memory and on the server: found, made, changed and deleted."""

from typing import Any

import pytest

from builders import NOW, UID, a_body, a_job
from cluster.fakeapi import FakeApi
from cluster.raw import Raw, owner, raw_group
from trainingjobs.cluster import paths, podgroups
from trainingjobs.cluster.apply import Applier
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.observe import Sweep, observe
from trainingjobs.cluster.store import Store
from trainingjobs.model.gang import Gang, GroupSeen
from trainingjobs.model.observed import Trouble

KEY = ("lab", "mnist")


def at(of: Gang) -> str:
    return f"{paths.pod_groups(of, 'lab')}/mnist"


def group(of: Gang = Gang.VOLCANO, members: int = 3, uid: str = "group-1") -> GroupSeen:
    return GroupSeen(gang=of, name="mnist", uid=uid, members=members)


def wanted(of: Gang = Gang.VOLCANO, **spec: Any) -> Raw:
    """A pod group to be created: without what only a server knows."""
    raw = raw_group(of)
    for field in ("uid", "resourceVersion"):
        del raw["metadata"][field]
    return {**raw, "spec": {**raw["spec"], **spec}}


class Place:
    """An executor and a sweep in front of a fake server that knows all pod groups."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.api.serves = {paths.api(of) for of in Gang}
        self.store = Store(lambda: NOW)
        self.store.put_job(a_body())
        self.woken: list[tuple[str, str]] = []
        api: Any = self.api
        self.applier = Applier(api, self.store, 4)
        self.sweep = Sweep(
            api=api, store=self.store, wake=self.woken.append, namespaces=("lab",)
        ).once
        self.job = a_job()

    @property
    def groups(self) -> tuple[GroupSeen, ...]:
        """What decisions see."""
        return observe(self.store, self.job).groups

    def listed(self, of: Gang, **metadata: Any) -> None:
        """A group that a list tells of without saying what it is."""
        raw = raw_group(of, **metadata)
        del raw["apiVersion"], raw["kind"]
        self.api.add(at(of), raw)


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.mark.parametrize("of", Gang)
def test_the_size_is_read_where_each_api_has_it(of: Gang) -> None:
    assert podgroups.seen(raw_group(of, members=7)) == group(of, 7)


def test_a_group_that_is_being_deleted_counts_as_gone() -> None:
    assert podgroups.seen(raw_group(deletionTimestamp="2026-03-01T12:00:00Z")) is None


async def test_a_sweep_finds_the_groups_of_every_api(place: Place) -> None:
    for number, of in enumerate(Gang):
        place.listed(of, uid=f"group-{number}")
    await place.sweep()
    assert {(it.gang, it.uid) for it in place.groups} == {
        (of, f"group-{number}") for number, of in enumerate(Gang)
    }
    assert KEY in place.woken


async def test_what_is_gone_from_one_api_is_gone(place: Place) -> None:
    place.listed(Gang.VOLCANO, uid="v")
    place.listed(Gang.KUBERNETES, uid="k")
    await place.sweep()
    del place.api.objects[at(Gang.VOLCANO)]
    place.api.revision += 5
    await place.sweep()
    assert [it.gang for it in place.groups] == [Gang.KUBERNETES]


async def test_an_api_that_comes_or_goes_wakes_every_job(place: Place) -> None:
    place.api.serves = set()
    await place.sweep()
    assert observe(place.store, place.job).served == frozenset()
    assert place.woken == []
    place.api.serves = {paths.api(Gang.VOLCANO)}
    await place.sweep()
    assert observe(place.store, place.job).served == {Gang.VOLCANO}
    assert place.woken == [KEY]
    place.listed(Gang.VOLCANO)
    await place.sweep()
    place.api.serves = set()
    await place.sweep()
    assert place.groups == ()


async def test_an_api_version_without_pod_groups_serves_none() -> None:
    class Empty(FakeApi):
        def _discover(self, path: str) -> Raw:
            return {"resources": [{"name": f"others-of-{path}"}]}

    known = frozenset(Gang)
    assert await podgroups.served(Empty(), known) == frozenset()  # type: ignore[arg-type]


async def test_who_cannot_ask_does_not_take_that_for_a_no(place: Place) -> None:
    place.listed(Gang.VOLCANO)
    await place.sweep()
    place.api.refuse = lambda _method, path: (
        ApiError(503, "ServiceUnavailable", "out") if "scheduling" in path else None
    )
    await place.sweep()
    assert place.store.served == frozenset(Gang)
    assert [it.gang for it in place.groups] == [Gang.VOLCANO]


@pytest.mark.parametrize("of", Gang)
async def test_a_group_is_made_where_its_api_is(place: Place, of: Gang) -> None:
    assert await place.applier.create(place.job, [wanted(of)]) == ()
    assert place.api.writes == [("POST", paths.pod_groups(of, "lab"))]
    assert [it.gang for it in place.groups] == [of]


async def test_a_refused_group_means_no_pods(place: Place) -> None:
    place.api.refuse = lambda *_: ApiError(403, "Forbidden", "no")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "lab"}}
    (problem,) = await place.applier.create(place.job, [pod, wanted()])
    assert (problem.trouble, len(place.api.calls)) == (Trouble.FORBIDDEN, 1)


async def test_a_group_that_still_goes_is_waited_for(place: Place) -> None:
    place.api.add(at(Gang.KUBERNETES), raw_group(Gang.KUBERNETES, deletionTimestamp="2026"))
    (problem,) = await place.applier.create(place.job, [wanted(Gang.KUBERNETES)])
    assert problem.trouble is Trouble.LEFTOVER
    assert problem.message == "PodGroup mnist of before is still being deleted"
    assert place.groups == ()


async def test_a_foreign_group_is_a_conflict(place: Place) -> None:
    theirs = [owner(uid="another")]
    place.api.add(at(Gang.VOLCANO), raw_group(ownerReferences=theirs))
    (problem,) = await place.applier.create(place.job, [wanted()])
    assert problem.trouble is Trouble.CONFLICT
    assert "does not belong to this job" in problem.message


def patch(members: int, uid: str = "group-1") -> Raw:
    return {
        "apiVersion": Gang.VOLCANO.value,
        "kind": "PodGroup",
        "metadata": {"name": "mnist", "namespace": "lab", "uid": uid},
        "spec": {"minMember": members},
    }


async def test_a_group_is_resized_and_known_with_its_new_size(place: Place) -> None:
    found = place.api.add(at(Gang.VOLCANO), raw_group())
    place.store.put(found)
    assert await place.applier.change(place.job, [patch(5)]) == ()
    assert place.api.objects[at(Gang.VOLCANO)]["spec"] == {"minMember": 5}
    assert place.groups == (group(members=5),)


async def test_a_group_that_is_gone_is_not_resized(place: Place) -> None:
    place.store.put(raw_group())
    assert await place.applier.change(place.job, [patch(5)]) == ()
    assert place.groups == ()


async def test_a_group_that_was_replaced_is_not_resized(place: Place) -> None:
    place.store.put(raw_group())
    place.api.add(at(Gang.VOLCANO), raw_group(uid="group-2"))
    assert await place.applier.change(place.job, [patch(5)]) == ()
    assert place.api.objects[at(Gang.VOLCANO)]["spec"] == {"minMember": 3}
    assert place.groups == ()


async def test_a_refused_size_is_a_problem(place: Place) -> None:
    place.store.put(raw_group())
    place.api.refuse = lambda *_: ApiError(403, "Forbidden", "no")
    (problem,) = await place.applier.change(place.job, [patch(5)])
    assert (problem.trouble, problem.name) == (Trouble.FORBIDDEN, "mnist")
    assert place.groups == (group(),)


async def test_a_group_is_deleted_and_no_later_one_of_its_name(place: Place) -> None:
    found = place.api.add(at(Gang.VOLCANO), raw_group())
    place.store.put(found)
    await place.applier.delete_groups(place.job, [group(uid="an-earlier-one")])
    assert at(Gang.VOLCANO) in place.api.objects
    await place.applier.delete_groups(place.job, [group()])
    assert at(Gang.VOLCANO) not in place.api.objects
    assert place.groups == ()
    await place.applier.delete_groups(place.job, [group()])


async def test_a_refused_deletion_is_told(place: Place) -> None:
    place.store.put(raw_group())
    place.api.refuse = lambda *_: ApiError(403, "Forbidden", "no")
    with pytest.raises(ApiError):
        await place.applier.delete_groups(place.job, [group()])
    assert place.groups == (group(),)


async def test_what_a_job_owned_is_forgotten_with_it(place: Place) -> None:
    place.store.put(raw_group())
    place.store.drop_job(a_body())
    assert place.store.groups_of(UID) == ()
