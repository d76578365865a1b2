"""A kubeconfig's exec plugin: asked once for all connections, and again when its answer is old.

A plugin may open a browser, or ask a service that counts: a reader for each rank is no reason to
start it as often.
"""

import asyncio
from contextlib import aclosing

import httpx2
import msgspec
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import UserExec
from lightkube.core.exceptions import ConfigError


def of(config: SingleConfig) -> UserExec | None:
    """The plugin that says who we are; a token that is given goes before it."""
    user = config.user
    return None if user is None or user.token or user.token_file else user.exec


def without(config: SingleConfig) -> SingleConfig:
    """The same cluster and user, for connections that need not ask by themselves."""
    if of(config) is None or config.user is None:
        return config
    return config._replace(user=msgspec.structs.replace(config.user, exec=None))


class Plugged(httpx2.AsyncBaseTransport):
    """Sends each request with what the plugin has answered."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, plugin: UserExec) -> None:
        self._inner, self._plugin = inner, plugin
        self._lock = asyncio.Lock()
        self._bearer = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer; one that does not know us is asked for once more, with a new token."""
        used = self._bearer or await self._renewed("")
        answer = await self._sent(request, used)
        if answer.status_code != httpx2.codes.UNAUTHORIZED:
            return answer
        await answer.aclose()
        return await self._sent(request, await self._renewed(used))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    async def _sent(self, request: httpx2.Request, bearer: str) -> httpx2.Response:
        request.headers["Authorization"] = bearer
        return await self._inner.handle_async_request(request)

    async def _renewed(self, old: str) -> str:
        async with self._lock:
            if self._bearer == old:  # else another request has asked meanwhile
                self._bearer = await self._asked()
            return self._bearer

    async def _asked(self) -> str:
        request = httpx2.Request("GET", "http://nobody")
        try:
            flow = client_adapter.ExecAuth(self._plugin).async_auth_flow(request)
            async with aclosing(flow):
                return str((await anext(flow)).headers["Authorization"])
        except (ValueError, TypeError) as error:
            words = f"the exec plugin {self._plugin.command} answers what is no credential: {error}"
            raise ConfigError(words) from error
