"""The raw floor: a client that sends the pods which our operator would make, and nothing else.

It is a process of its own, as operators are, and has all its requests ready before it is told
to begin. It listens on a socket: `load FILE`, in which each line is a path and a body, and `go`.
"""

import asyncio
import sys
from pathlib import Path

import uvloop

from benchmarks.compare.client import IN_FLIGHT, Client


class Floor:
    """What is loaded, and who sends it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._orders: list[list[bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Obey, line by line."""
        async for line in reader:
            what, _, file = line.decode().strip().partition(" ")
            if what == "load":
                self._orders = _orders(Path(file))
            else:
                await self._send()
            writer.write(b"done\n")
            await writer.drain()

    async def _send(self) -> None:
        queue = iter(self._orders)

        async def work() -> None:
            for path, body in queue:
                await self._client.post(path.decode(), body)

        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(work())


def _orders(file: Path) -> list[list[bytes]]:
    return [it.split(b" ", 1) for it in file.read_bytes().splitlines()]


async def main(url: str, ca: str, socket: str) -> None:
    """Serve until killed."""
    async with Client(url, Path(ca), "raw") as client:
        server = await asyncio.start_unix_server(Floor(client).serve, socket)
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
