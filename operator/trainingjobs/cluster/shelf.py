"""What is known of objects that several sources tell of, in any order.

Watch events, lists and the answers to our own writes overtake each other. Two rules make
them agree: of one object the newest resourceVersion wins, and a deletion is the last word
on its uid, unless something newer than the deletion proves that it was none (an object
that lost its label and got it back is told as deleted and added).
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_SPARE_TOMBSTONES = 64


def newer(version: str, than: str) -> bool:
    """True when the first resourceVersion is the newer one.

    They are comparable integers since Kubernetes 1.35; where they are not, what arrives
    later counts as newer.
    """
    if version.isdigit() and than.isdigit():
        return int(version) > int(than)
    return version != than


def version_of(manifest: Mapping[str, Any]) -> str:
    """The resourceVersion of an object or a list."""
    return str(manifest["metadata"].get("resourceVersion") or "")


class Shelf(Generic[Value]):
    """Values by uid, each with the resourceVersion that it was told with."""

    def __init__(self) -> None:
        self._live: dict[str, tuple[str, Value]] = {}
        self._dead: OrderedDict[str, str] = OrderedDict()
        self._most = 0

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Value]:
        return (value for _, value in self._live.values())

    def get(self, uid: str) -> Value | None:
        """The value of one object."""
        known = self._live.get(uid)
        return None if known is None else known[1]

    def put(self, uid: str, version: str, value: Value) -> bool:
        """Take in what is told of an object; false when it is known or out of date."""
        if uid in self._dead and not self._outlives(uid, version):
            return False
        if uid in self._live and not newer(version, self._live[uid][0]):
            return False
        self._dead.pop(uid, None)
        self._live[uid] = version, value
        self._most = max(self._most, len(self._live))
        return True

    def bury(self, uid: str, version: str = "") -> bool:
        """Take in a deletion; false when something newer than it is known."""
        known = self._live.get(uid)
        if known and version.isdigit() and known[0].isdigit() and int(known[0]) > int(version):
            return False
        self._live.pop(uid, None)
        self._dead.pop(uid, None)
        self._dead[uid] = version
        while len(self._dead) > 2 * self._most + _SPARE_TOMBSTONES:
            self._dead.popitem(last=False)
        return known is not None

    def bury_absent(
        self, uids: Iterable[str], present: AbstractSet[str], version: str
    ) -> list[str]:
        """Take in a complete list: those of these uids that it lacks are gone.

        What is newer than the list stays; where versions cannot be compared, what is gone
        may come back.
        """
        absent = [uid for uid in uids if uid in self._live and uid not in present]
        return [uid for uid in absent if self._drop(uid, version)]

    def uids(self) -> list[str]:
        """The uids of all that is there."""
        return list(self._live)

    def _drop(self, uid: str, version: str) -> bool:
        if version.isdigit() and self._live[uid][0].isdigit():
            return self.bury(uid, version)
        del self._live[uid]
        return True

    def _outlives(self, uid: str, version: str) -> bool:
        grave = self._dead[uid]
        return version.isdigit() and grave.isdigit() and int(version) > int(grave)
