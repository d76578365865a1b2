"""Messages over TLS: whom the certificate names hears them, and nobody else."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from localcluster import pki

HOST = "127.0.0.1"
SENDS = """
import asyncio, sys
from ipaddress import ip_network
from trainingjobs.cluster.errors import WebhookError
from trainingjobs.cluster.webhook import Reach, Webhook

async def resolve(host, port):
    return ["127.0.0.1"]

async def main():
    try:
        reach = Reach(networks=(ip_network("127.0.0.0/8"),))
        await Webhook(reach, resolve).send(sys.argv[1], {"text": "hello"})
    except WebhookError as error:
        print(error)

asyncio.run(main())
"""
"""A process of its own: what is trusted is read once, when the HTTP client is imported."""


@asynccontextmanager
async def a_receiver(folder: Path, name: str) -> AsyncIterator[tuple[int, list[str]]]:
    """It shows a certificate of this name; its port, and what it has heard."""
    signer = pki.authority("the world's")
    pki.write(folder, "world", signer.pair)
    pki.write(folder, "server", signer.issue("receiver", names=[name]))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    heard: list[str] = []

    async def hear(request: web.Request) -> web.Response:
        heard.append((await request.json())["text"])
        return web.Response()

    app = web.Application()
    app.router.add_post("/secret", hear)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1], heard
    finally:
        await runner.cleanup()


async def sent(url: str, trusted: Path) -> str:
    """What the sender says, who trusts this authority."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SENDS, url),
        env={**os.environ, "SSL_CERT_FILE": str(trusted)},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().strip()


async def test_a_message_comes_to_whom_its_certificate_names(tmp_path: Path) -> None:
    async with a_receiver(tmp_path, "hooks.example") as (port, heard):
        told = await sent(f"https://hooks.example:{port}/secret", tmp_path / "world.crt")
    assert (told, heard) == ("", ["hello"])


@pytest.mark.parametrize("name", ["other.example", HOST])
async def test_nobody_hears_it_whose_certificate_names_another(tmp_path: Path, name: str) -> None:
    async with a_receiver(tmp_path, name) as (port, heard):
        told = await sent(f"https://hooks.example:{port}/secret", tmp_path / "world.crt")
    assert heard == []
    assert told.startswith("no connection (")
    assert "hooks.example" not in told


async def test_nobody_hears_it_whom_nobody_vouches_for(tmp_path: Path) -> None:
    other = pki.authority("another's")
    pki.write(tmp_path, "other", other.pair)
    async with a_receiver(tmp_path, "hooks.example") as (port, heard):
        told = await sent(f"https://hooks.example:{port}/secret", tmp_path / "other.crt")
    assert heard == []
    assert told.startswith("no connection (")
