"""The doorbells: what changed goes into the store, and the job it belongs to is woken.

Only `on.event` is used: it writes nothing to users' objects, no finalizer and no
annotation, and leaves out nothing that a watch tells. Pods and services are taken in as they
come out of the watch: a queue, a task and a memory for each object would cost more than all that
we do with it.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import kopf

from trainingjobs.cluster.store import Key, Store
from trainingjobs.handlers.health import Ear
from trainingjobs.model import labels

_LOG = logging.getLogger(__name__)
_BOOKMARK = "BOOKMARK"
_DELETED = "DELETED"
_CHILDREN = ("pods", "services")

Handler = Callable[..., Coroutine[Any, Any, None]]
Ring = Callable[[str | None, dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doorbells:
    """Where events go."""

    store: Store
    ear: Ear
    wake: Callable[[Key], None]

    def hang(self, registry: kopf.OperatorRegistry) -> None:
        """Let kopf ring them."""
        job = kopf.on.event(labels.GROUP, labels.VERSION, labels.PLURAL, registry=registry)
        job(_guarded(self.job))
        for plural in _CHILDREN:
            # for its sake kopf watches them
            child = kopf.on.event("", "v1", plural, registry=registry, id=f"{plural}-changed")
            child(_guarded(self.child))

    def job(self, kind: str | None, body: dict[str, Any]) -> None:
        """A job changed, or is gone."""
        if kind == _DELETED:
            self.ear.forget(body)
            self.store.drop_job(body)
        else:
            self.ear.hear(body)
            if not self.store.put_job(body):
                return
        self.wake((body["metadata"]["namespace"], body["metadata"]["name"]))

    def takes(self, plural: str, event: Any) -> bool:
        """Take in an event of a watch; false where kopf has to bring it."""
        if plural not in _CHILDREN or not isinstance(event, dict) or event["type"] == _BOOKMARK:
            return False
        _ring(self.child, event["type"], event["object"])
        return True

    def child(self, kind: str | None, body: dict[str, Any]) -> None:
        """A pod or a service of a job changed, or is gone."""
        key = self.store.drop(body) if kind == _DELETED else self.store.put(body)
        if key is not None and self.store.job(key) is not None:
            self.wake(key)


def _guarded(ring: Ring) -> Handler:
    async def handler(event: kopf.RawEvent, **_: Any) -> None:
        _ring(ring, event["type"], dict(event["object"]))

    return handler


def _ring(ring: Ring, kind: str | None, body: dict[str, Any]) -> None:
    """Take an event in, or say why not: what escapes would end kopf's watch."""
    try:
        ring(kind, body)
    except asyncio.CancelledError:
        raise
    except BaseException:  # noqa: BLE001 - the next event may well be taken in
        _LOG.exception("an event could not be taken in")
