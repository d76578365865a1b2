"""Whatever order events, lists and answers come in, the store ends with what is true."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOW, SERVICE, UID, a_body, at, service_spec
from cluster.raw import Raw, container, owner, raw_pod, raw_service, terminated
from trainingjobs.cluster.shelf import Shelf, newer
from trainingjobs.cluster.store import Store

KEY = ("lab", "mnist")


@pytest.fixture
def store() -> Store:
    """One that has heard of the job long ago."""
    store = Store(lambda: NOW)
    store.put_job(body(version="1"))
    return store


def body(uid: str = UID, version: str = "10", **metadata: Any) -> Raw:
    """A job's body of this identity and version."""
    raw = a_body()
    raw["metadata"] |= {"uid": uid, "resourceVersion": version, **metadata}
    return raw


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[int, str, str]], list[dict[str, int]]]:
    """What happened to some objects, as (revision, uid, what), and all worlds on the way."""
    steps = draw(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=25))
    world: dict[str, int] = {}
    dead: set[str] = set()
    events, worlds = [], [dict(world)]
    for revision, (uid, deleted) in enumerate(steps, start=1):
        if uid not in dead and not (deleted and uid not in world):
            events.append((revision, uid, "gone" if deleted else "there"))
            if deleted:
                dead.add(uid)
                del world[uid]
            else:
                world[uid] = revision
        worlds.append(dict(world))
    return events, worlds


def tell(shelf: Shelf[int], event: tuple[int, str, str]) -> None:
    """One watch event."""
    revision, uid, what = event
    if what == "gone":
        shelf.bury(uid, str(revision))
    else:
        shelf.put(uid, str(revision), revision)


def show(shelf: Shelf[int], world: dict[str, int], revision: int) -> None:
    """One complete list."""
    for uid, changed in world.items():
        shelf.put(uid, str(changed), changed)
    shelf.bury_absent(shelf.uids(), world.keys(), str(revision))


@given(histories(), st.data())
def test_any_order_of_all_news_ends_with_the_truth(history: Any, data: st.DataObject) -> None:
    events, worlds = history
    repeated = events + data.draw(
        st.lists(st.sampled_from(events), max_size=5) if events else st.just([])
    )
    lists = data.draw(st.lists(st.integers(0, len(worlds) - 1), max_size=4))
    news = [
        *(lambda shelf, event=event: tell(shelf, event) for event in repeated),
        *(lambda shelf, at=at: show(shelf, worlds[at], at) for at in lists),
    ]
    shelf: Shelf[int] = Shelf()
    for told in data.draw(st.permutations(news)):
        told(shelf)
    assert {uid: shelf.get(uid) for uid in shelf.uids()} == worlds[-1]


@given(histories(), st.data())
def test_a_last_list_mends_what_the_watch_lost(history: Any, data: st.DataObject) -> None:
    events, worlds = history
    heard = data.draw(st.lists(st.sampled_from(events), unique=True) if events else st.just([]))
    shelf: Shelf[int] = Shelf()
    for event in heard:
        tell(shelf, event)
    show(shelf, worlds[-1], len(worlds))
    assert {uid: shelf.get(uid) for uid in shelf.uids()} == worlds[-1]


@given(st.lists(st.integers(1, 9)), st.integers(1, 9))
def test_the_deleted_never_come_back(revisions: list[int], last: int) -> None:
    shelf: Shelf[int] = Shelf()
    shelf.bury("a", str(last + max(revisions, default=0)))
    for revision in revisions:
        shelf.put("a", str(revision), revision)
    assert not len(shelf)


def test_what_is_newer_than_its_deletion_was_not_deleted() -> None:
    shelf: Shelf[str] = Shelf()
    shelf.put("a", "5", "labelled")
    shelf.bury("a", "6")
    assert shelf.put("a", "7", "labelled again")


def test_versions_that_are_no_numbers_count_by_arrival() -> None:
    assert newer("b", "a")
    assert newer("a", "b")
    assert not newer("a", "a")
    shelf: Shelf[str] = Shelf()
    shelf.put("a", "x", "old")
    assert shelf.put("a", "y", "new")
    assert shelf.bury_absent(["a"], set(), "z") == ["a"]
    assert shelf.put("a", "w", "younger than the list")
    assert shelf.bury("a", "v")
    assert not shelf.put("a", "u", "dead")


def test_tombstones_are_bounded() -> None:
    shelf: Shelf[int] = Shelf()
    for number in range(1000):
        shelf.bury(str(number), "9")
    assert len(shelf._dead) <= 64  # noqa: SLF001 - memory is what this is about


def test_a_pod_wakes_its_job_only_when_it_is_news(store: Store) -> None:
    assert store.put(raw_pod(version="5")) == KEY
    assert store.put(raw_pod(version="5")) is None
    assert store.put(raw_pod(version="4")) is None
    assert store.put(raw_pod(version="6")) is None, "nothing that is decided by has changed"
    assert store.put(raw_pod(version="7", status={"phase": "Running"})) == KEY
    assert store.put(raw_pod(metadata={"ownerReferences": []})) is None
    assert [pod.uid for pod in store.pods_of(UID)] == ["pod-0"]


def test_versions_compare_as_numbers(store: Store) -> None:
    store.put(raw_pod(version="9"))
    assert store.put(raw_pod(version="10", status={"phase": "Running"})) == KEY


def test_pods_come_by_rank(store: Store) -> None:
    for rank in (2, 0, 1):
        store.put(raw_pod(rank))
    assert [pod.rank for pod in store.pods_of(UID)] == [0, 1, 2]


def test_an_end_is_noticed_once() -> None:
    times = iter([at(1), at(2), at(3)])
    store = Store(lambda: next(times))
    store.put_job(body())
    ended = {"phase": "Failed", "containerStatuses": [container(terminated=terminated(1))]}
    store.put(raw_pod(version="5"))
    store.put(raw_pod(version="6", status=ended))
    store.put(raw_pod(version="7", status=ended))
    assert [pod.noticed_end for pod in store.pods_of(UID)] == [at(1)]


def test_the_service_comes_and_goes(store: Store) -> None:
    assert not store.service_of(UID)
    assert store.put(raw_service(version="4")) == KEY
    assert store.service_of(UID)
    assert store.drop(raw_service(version="5")) == KEY
    assert not store.service_of(UID)


def test_the_service_is_known_by_its_latest_words_and_by_what_is_ours_of_them(
    store: Store,
) -> None:
    store.put(raw_service(version="4"))
    assert store.put(raw_service(version="6", port=80)) == KEY
    assert store.put(raw_service(version="5")) is None
    assert store.service_of(UID) == replace(SERVICE, spec=service_spec(80))
    ports = [{"port": 1, "appProtocol": "x"}]
    theirs = {"clusterIP": "None", "sessionAffinity": "None", "ports": ports}
    store.put({**raw_service(version="7"), "spec": theirs})
    ours = {"clusterIP": "None", "ports": [{"port": 1}]}
    assert store.service_of(UID) == replace(SERVICE, spec=ours)
    store.put({**raw_service(version="8"), "spec": None})
    assert store.service_of(UID) == replace(SERVICE, spec={"ports": []})


def test_a_copy_of_the_service_is_not_the_service(store: Store) -> None:
    store.put(raw_service(name="mnist-2", uid="service-2"))
    assert store.service_of(UID) is None
    store.put(raw_service())
    assert store.service_of(UID) == SERVICE


def test_what_a_list_of_children_lacks_is_gone(store: Store) -> None:
    store.put_job(body("other", name="other"))
    foreign = raw_pod(1, metadata={"ownerReferences": [owner(uid="other", name="other")]})
    for child in (foreign, raw_pod(0, version="5"), raw_service()):
        store.put(child)
    assert store.drop_absent_children("Pod", None, {"pod-1"}, "7") == [KEY]
    assert store.pods_of(UID) == ()
    assert len(store.pods_of("other")) == 1
    assert store.service_of(UID)
    assert store.drop_absent_children("Service", "lab", set(), "7") == [KEY]
    assert not store.service_of(UID)


@pytest.mark.parametrize("first", ["theirs", "ours"])
@pytest.mark.parametrize(
    "claimed",
    [{"namespace": "elsewhere"}, {"ownerReferences": [owner(name="other")]}],
    ids=["another namespace", "another name"],
)
def test_whoever_writes_the_uid_of_a_job_into_a_pod_makes_none_of_its_pods(
    store: Store, claimed: Raw, first: str
) -> None:
    """Nobody has to know the job to write a reference to it, in a namespace of one's own."""
    ended = {"phase": "Failed", "containerStatuses": [container(terminated=terminated(1))]}
    theirs = raw_pod(0, uid="theirs", metadata=claimed, status=ended)
    copy = {**raw_service(uid="copy"), "metadata": {**raw_service()["metadata"], **claimed}}
    ours = [raw_pod(0), raw_service()]
    for child in [theirs, copy, *ours] if first == "theirs" else [*ours, theirs, copy]:
        woken = store.put(child)
        assert (woken == KEY) == (child in ours)
    assert [pod.uid for pod in store.pods_of(UID)] == ["pod-0"]
    assert store.service_of(UID) == SERVICE
    assert store.past_of(UID).succeeded == frozenset()
    assert store.pod(UID, "theirs") is None
    assert not store.take(theirs)
    assert store.take(ours[0])
    assert store.pod(UID, "pod-0") is not None
    store.drop(theirs)
    assert [pod.uid for pod in store.pods_of(UID)] == ["pod-0"]


def test_what_belongs_to_no_job_is_forgotten_when_it_goes(store: Store) -> None:
    store.put_job(body())
    before = len(store._families)  # noqa: SLF001 - memory is what this is about
    theirs = raw_pod(0, uid="theirs", metadata={"namespace": "elsewhere"})
    store.put(theirs)
    store.drop(theirs)
    assert len(store._families) == before  # noqa: SLF001
    assert store.home_of("theirs") is None


def test_a_list_of_another_namespace_says_nothing(store: Store) -> None:
    store.put(raw_pod(0, version="5"))
    assert store.drop_absent_children("Pod", "elsewhere", set(), "7") == []
    assert len(store.pods_of(UID)) == 1


def test_a_list_does_not_remove_what_is_younger(store: Store) -> None:
    store.put(raw_pod(0, version="9"))
    assert store.drop_absent_children("Pod", None, set(), "8") == []
    assert len(store.pods_of(UID)) == 1


def test_whose_pod_it_is_is_known_without_a_look_at_each_job(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger may ask for any pod, as often as it likes."""
    for number in range(1_000):
        theirs = {"ownerReferences": [owner(uid=f"job-{number}", name=f"job-{number}")]}
        store.put(raw_pod(0, uid=f"pod-of-{number}", metadata=theirs))
    looks, get = Counter[str](), Shelf.get

    def look(shelf: Shelf[Any], uid: str) -> Any:
        looks[uid] += 1
        return get(shelf, uid)

    monkeypatch.setattr(Shelf, "get", look)
    assert store.home_of("pod-of-700") == "job-700"
    assert store.home_of("no-pod") is None
    assert looks.total() <= 2


@pytest.mark.parametrize("way", ["told", "lost", "list", "job"])
def test_a_pod_that_is_gone_has_no_home(store: Store, way: str) -> None:
    store.put_job(a_body())
    pod = raw_pod(0, version="5")
    store.put(pod)
    assert store.home_of("pod-0") == UID
    if way == "told":
        store.drop(raw_pod(0, version="6"))
    elif way == "lost":
        store.lost(UID, "Pod", "pod-0")
    elif way == "list":
        store.drop_absent_children("Pod", None, set(), "7")
    else:
        job = a_body()
        store.drop_job({**job, "metadata": {**job["metadata"], "resourceVersion": "99"}})
    assert store.home_of("pod-0") is None
    assert store._homes == {}  # noqa: SLF001  what is left there is left for ever


def test_a_pod_that_the_server_does_not_know_is_gone_for_good(store: Store) -> None:
    store.put(raw_pod(0, version="5"))
    store.lost(UID, "Pod", "pod-0")
    store.put(raw_pod(0, version="6"))
    assert store.pods_of(UID) == ()


def test_a_job_is_its_latest_body(store: Store) -> None:
    assert store.put_job(body(version="10"))
    assert not store.put_job(body(version="9"))
    assert store.put_job(body(version="11"))
    found = store.job(KEY)
    assert found is not None
    assert found["metadata"]["resourceVersion"] == "11"
    assert len(list(store.jobs())) == 1


def test_long_and_silent_parts_are_not_kept(store: Store) -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{…}", "mine": "kept"}
    store.put_job(body(managedFields=[{}], annotations=notes))
    found = store.job(KEY)
    assert found is not None
    assert found["metadata"]["annotations"] == {"mine": "kept"}
    assert "managedFields" not in found["metadata"]


def test_a_job_that_is_gone_takes_everything_along(store: Store) -> None:
    store.put_job(body())
    store.put(raw_pod())
    store.drop_job(body(version="12"))
    assert store.job(KEY) is None
    assert store.pods_of(UID) == ()
    assert not store.put_job(body(version="11"))
    store.put(raw_pod(version="13"))
    store.drop(raw_pod(version="14"))
    assert not store._families  # noqa: SLF001 - memory is what this is about


def test_a_job_of_the_same_name_is_another_job(store: Store) -> None:
    store.put_job(body(uid="first", version="10"))
    store.put_job(body(uid="second", version="20"))
    store.drop_job(body(uid="first", version="15"))
    found = store.job(KEY)
    assert found is not None
    assert found["metadata"]["uid"] == "second"


@pytest.mark.parametrize(
    ("namespace", "version", "gone"),
    [(None, "11", [KEY]), ("lab", "11", [KEY]), ("other", "11", []), (None, "9", [])],
    ids=["of the cluster", "of its namespace", "of another namespace", "an older list"],
)
def test_what_a_list_of_jobs_lacks_is_gone(
    store: Store, namespace: str | None, version: str, gone: list[tuple[str, str]]
) -> None:
    store.put_job(body(version="10"))
    assert store.drop_absent(namespace, set(), version) == gone
    assert (store.job(KEY) is None) == bool(gone)
