"""The last look before a write leaves the process: may it still be sent?

A request waits for a connection, and the process itself may stand still between any two steps.
So the question is asked where the bytes are handed over, with nothing to wait for behind it.
"""

from collections.abc import Callable

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import BytesPayload

from trainingjobs.cluster.errors import NotLeadingError


class Body(BytesPayload):
    """A request's body, with which its headers go out: no body, no request."""

    def __init__(self, value: bytes, may_write: Callable[[], bool]) -> None:
        super().__init__(value)
        self._may_write = may_write

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Hand the bytes over.

        Raises:
            NotLeadingError: when they may not be sent any more.
        """
        if not self._may_write():
            raise NotLeadingError
        await super().write_with_length(writer, content_length)
