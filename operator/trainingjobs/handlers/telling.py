"""Puts together what tells people outside of the cluster, as the settings allow it."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

from trainingjobs.cluster.api import Api
from trainingjobs.cluster.events import Recorder
from trainingjobs.cluster.notifier import Notifier
from trainingjobs.cluster.store import Key
from trainingjobs.cluster.webhook import Address, Reach, Webhook
from trainingjobs.settings import Settings

_API_SERVER = "KUBERNETES_SERVICE_HOST"


def notifier(
    settings: Settings,
    api: Api,
    recorder: Recorder,
    wake: Callable[[Key], None],
    leads: Callable[[], bool],
) -> Notifier:
    """The notifier; where notifications are off, it says so to who asks for some."""
    return Notifier(
        api=api,
        webhook=Webhook(reach(settings, os.environ)) if settings.notify else None,
        recorder=recorder,
        wake=wake,
        leads=leads,
        clock=lambda: datetime.now(UTC),
    )


def reach(settings: Settings, environ: Mapping[str, str]) -> Reach:
    """Where messages may go: never to the API server, whatever networks are allowed."""
    never: tuple[Address, ...] = ()
    with suppress(ValueError):
        never = (ip_address(environ.get(_API_SERVER, "")),)
    return Reach(
        networks=tuple(map(ip_network, settings.notify_networks)),
        plain=settings.notify_http,
        never=never,
    )
