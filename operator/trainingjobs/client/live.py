"""What the operator knows of a job at this moment: asked of its own HTTP service, as it leads.

The resource has room for a few ranks in trouble. All of them are in the leader's memory, and its
service is not open to the world: the way there is a port-forward, and the key a token that opens
nothing else.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2

from trainingjobs.client import asked, forward
from trainingjobs.client.errors import ClientError, NotFoundError, RefusedError, UnreachableError
from trainingjobs.client.forward import Forward
from trainingjobs.client.job import Manifest
from trainingjobs.client.leader import Operator
from trainingjobs.client.raw import Raw

_PAUSES = (0.5, 1.0, 2.0)
_SECONDS = 10.0
_TOKEN_SECONDS = 480.0
"""A token is used for so long, and lasts longer: by the time of day, as a machine may sleep."""


class Live:
    """Questions to the operator's leader."""

    def __init__(self, operator: Operator, way: Forward, account: str) -> None:
        self._operator, self._way, self._account = operator, way, account
        self._http = httpx2.AsyncClient(trust_env=False, timeout=_SECONDS)
        self._token, self._made = "", float("-inf")

    async def close(self) -> None:
        """Ask no more."""
        await self._http.aclose()

    async def whole(self, namespace: str, name: str) -> Manifest:
        """The whole status of a job: `status`, `ranks` and `findings`.

        Raises:
            ClientError: when it is not told, and what to do about it.
        """
        return await self._asked(namespace, name, "")

    async def stacks(self, namespace: str, name: str) -> Manifest:
        """Where all ranks of a job stand: `stacks`, and the ranks that were not heard of.

        Raises:
            ClientError: when it is not told, and what to do about it.
        """
        return await self._asked(namespace, name, "/stacks")

    async def _asked(self, namespace: str, name: str, rest: str) -> Manifest:
        place = f"namespaces/{asked.namespace(namespace)}/trainingjobs/{asked.job(name)}"
        url = f"http://{forward.LOOPBACK}:{self._way.port}/api/v1/{place}{rest}"
        for seconds in _PAUSES:
            answer = await self._answer(url)
            if answer.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
                return self._told(answer, namespace)
            await asyncio.sleep(seconds)  # another replica leads, or it is busy
        return self._told(await self._answer(url), namespace)

    async def _answer(self, url: str) -> httpx2.Response:
        """What the operator answers; a token that it does not take may be an old one."""
        answer = await self._once(url)
        if answer.status_code != httpx2.codes.UNAUTHORIZED:
            return answer
        self._made = float("-inf")
        return await self._once(url)

    async def _once(self, url: str) -> httpx2.Response:
        bearer = {"Authorization": f"Bearer {await self._bearer()}"}
        self._way.wrong = None
        try:
            return await self._http.get(url, headers=bearer)
        except httpx2.HTTPError as error:
            if self._way.wrong is not None:
                raise self._way.wrong from error
            words = "the operator does not answer through the port-forward"
            raise UnreachableError(f"{words}: try again, or see its logs") from error

    async def _bearer(self) -> str:
        now = time.time()
        if not 0 <= now - self._made < _TOKEN_SECONDS:
            self._token = await self._operator.token(self._account)
            self._made = now
        return self._token

    def _told(self, answer: httpx2.Response, namespace: str) -> Manifest:
        try:
            found = dict(answer.json())
        except ValueError:
            found = {}
        if answer.is_success and found:
            return found
        raise self._refused(answer.status_code, str(found.get("error") or ""), namespace)

    def _refused(self, code: int, words: str, namespace: str) -> ClientError:
        said = words or f"the operator answers with HTTP {code}"
        if code == httpx2.codes.NOT_FOUND:
            return NotFoundError(said)
        if code == httpx2.codes.FORBIDDEN:
            whose = self._account or "the operator's own account"
            advice = f"name an account that may get TrainingJobs in {namespace} with --account"
            return RefusedError(f"{whose} may not get this TrainingJob: {advice}")
        if code == httpx2.codes.UNAUTHORIZED:
            return RefusedError(f"the operator does not take the token: {said}")
        return UnreachableError(said)


@asynccontextmanager
async def opened(
    raw: Raw, namespace: str, account: str = "", say: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Live]:
    """The way to the operator that serves a namespace, for several questions.

    Args:
        raw: the way to the API server.
        namespace: of the jobs.
        account: whose rights count, as `NAME` or `NAMESPACE/NAME`; else the operator's own.
        say: told which pod is asked, where that is in no usual place.
    """
    operator = Operator(raw, namespace, say)
    async with forward.listening(raw, operator.target) as way:
        live = Live(operator, way, account)
        try:
            yield live
        finally:
            await live.close()
