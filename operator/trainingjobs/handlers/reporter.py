"""Where an operator works, as its settings say: what it puts into every pod with it."""

import secrets

from trainingjobs import podfiles
from trainingjobs.model.site import Site
from trainingjobs.settings import Settings

_SECRET_BYTES = 32


def site(settings: Settings) -> Site:
    """Where an operator with these settings works."""
    return Site(
        domain=settings.cluster_domain,
        report_url=settings.report_url,
        reporter=podfiles.reporter(),
        launcher=podfiles.launcher(),
        secret=secrets.token_bytes(_SECRET_BYTES),
    )
