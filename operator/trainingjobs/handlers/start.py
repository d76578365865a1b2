"""The way from the settings to a running operator: credentials, connections, and who may write."""

from datetime import UTC, datetime

import kopf

from trainingjobs.cluster.api import Api
from trainingjobs.handlers import office, process
from trainingjobs.handlers.program import Program
from trainingjobs.settings import Settings

_SPARE_CONNECTIONS = 16
_LEASE_CONNECTIONS = 4


async def run(settings: Settings) -> int:
    """Run the operator with these settings; the exit code of the process.

    Raises:
        OSError: when no credentials are found, or the port is taken.
    """
    own = process.settings()
    try:
        info = process.login(own)
    except kopf.LoginError as error:
        raise ConnectionError(str(error)) from error
    connections = 2 * settings.parallel_writes + _SPARE_CONNECTIONS
    server, who = process.connection(info), office.instance()
    async with (
        Api(server, connections=connections, instance=who) as api,
        Api(server, connections=_LEASE_CONNECTIONS, instance=who) as apart,
    ):
        stands = office.candidacy(settings, apart, lambda: datetime.now(UTC))
        if stands is not None:
            # the one gate of all that is written
            api.may_write = stands.election.holds
        program = Program(settings, api, stands)
        apart.on_answer = program.metrics.request
        return await program.run(own, info)
