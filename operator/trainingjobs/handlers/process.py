"""How kopf is to behave: watch, and write nothing.

kopf brings the watches, the credentials and the process; what it would keep on users'
objects, and what it would give up on, is switched off here. So is Python's zeal to collect.
"""

import gc
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kopf

from trainingjobs.cluster.connection import Connection, TokenFile
from trainingjobs.handlers import endurance
from trainingjobs.model import labels

_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_PAGE = 200
_LONGEST_PAUSE = 10.0
"""So much longer than an outage we may be deaf; a try costs next to nothing."""


_NEW_OBJECTS = 10_000
"""Before Python looks for rings among them; by itself it does so after 700."""


def collect_seldom() -> None:
    """Have Python look for rings of objects seldom: it reads all reports for that, and finds none.

    A look at ten thousand ranks makes forty thousand objects and drops them at its end. With
    Python's own numbers every second such look met a search through the whole memory, which took
    twice as long as the look.
    """
    gc.set_threshold(_NEW_OBJECTS, 10, 10)


class Patience:
    """Pauses without an end: a watch outlives any outage of the API server or of RBAC."""

    def __iter__(self) -> Iterator[float]:
        pause = 1.0
        while True:
            yield pause * random.uniform(0.75, 1.25)  # noqa: S311 - spreads load, guards nothing
            pause = min(pause * 2, _LONGEST_PAUSE)


class NoDiffs(kopf.DiffBaseStorage):
    """Remembers nothing about objects, and so copies none: we compare nothing through kopf."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """No essence."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        """Nothing was stored."""

    def store(self, **_: Any) -> None:
        """Nothing is stored."""


def settings() -> kopf.OperatorSettings:
    """Kopf's settings for an operator that only watches through it."""
    own = kopf.OperatorSettings()
    own.posting.enabled = False
    own.persistence.diffbase_storage = NoDiffs()
    own.persistence.finalizer = f"{labels.GROUP}/unused"
    # without it kopf asks to watch definitions and namespaces; we wait for ours ourselves
    own.scanning.disabled = True
    own.peering.standalone = True
    own.process.ultimate_exiting_timeout = 20.0
    own.queueing.idle_timeout = 0.05
    own.queueing.exit_timeout = 1.0
    _watching(own)
    return own


def _watching(own: kopf.OperatorSettings) -> None:
    for plural in ("pods", "services"):
        own.watching.label_selectors["", "v1", plural] = labels.JOB_UID
    own.watching.chunk_size = _PAGE
    own.watching.server_timeout = 300  # the API server reads no fractions
    own.watching.client_timeout = endurance.LONGEST_SECONDS
    own.watching.inactivity_timeout = 70.0  # a bookmark comes each minute, or nobody is there
    own.watching.connect_timeout = 10.0
    own.networking.connect_timeout = 10.0
    own.networking.request_timeout = 30.0
    own.networking.error_backoffs = Patience()


def login(own: kopf.OperatorSettings) -> kopf.ConnectionInfo:
    """Who we are: the pod's service account, else what the kubeconfig says.

    Raises:
        LoginError: when there is neither.
    """
    found = kopf.login_with_service_account(settings=own) or kopf.login_with_kubeconfig(
        settings=own
    )
    if found is None:
        raise kopf.LoginError(
            "neither a service account nor a kubeconfig was found: set KUBECONFIG"
        )
    return found


def connection(info: kopf.ConnectionInfo) -> Connection:
    """The same facts for our own client; a service account's token is read anew as it rotates."""
    header = info.as_http_headers().get("Authorization")
    fixed = (lambda: header) if header else None
    rotates = _TOKEN.exists()
    return Connection(
        server=info.server,
        tls=info.as_ssl_context(),
        authorization=TokenFile(_TOKEN) if rotates else fixed,
        proxy=info.proxy_url,
    )
