"""Which pod a token proves, without asking the API server more than once for each.

What a token says of itself is read first: it proves nothing, but what contradicts us even so
needs no question. So a stranger's tokens, expired ones and those for another audience cost
the API server nothing. What counts is what the API server then says.
"""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from trainingjobs.cluster.gate import Gate
from trainingjobs.cluster.memo import Memo
from trainingjobs.cluster.reviews import Reviews, User

AUDIENCE = "trainingjob.dev/reports"
_LONGEST = 600.0
_SHORTEST = 5.0
_REFUSED = 30.0
_REMEMBERED = 32_768


class _Pod(BaseModel):
    uid: str
    name: str


class _Bound(BaseModel):
    namespace: str
    pod: _Pod


class _Meant(BaseModel):
    aud: list[str] | str = []

    def is_for(self, audience: str) -> bool:
        return audience in ([self.aud] if isinstance(self.aud, str) else self.aud)


class Claims(_Meant):
    """What a token says of itself."""

    exp: Annotated[int, Field(ge=0, le=2**53)]
    bound: Annotated[_Bound, Field(alias="kubernetes.io")]

    @property
    def pod_uid(self) -> str:
        """The pod that it is bound to."""
        return self.bound.pod.uid


@dataclass(frozen=True, slots=True)
class Proof:
    """The pod that a token is bound to, as the API server has said."""

    pod_uid: str
    pod: str
    namespace: str


class TokenError(Exception):
    """A token that proves nothing, and why."""


def claims(token: str) -> Claims:
    """What the token says of itself.

    Raises:
        TokenError: when it is no token of a pod.
    """
    try:
        return Claims.model_validate_json(_payload(token))
    except (ValidationError, ValueError):
        raise TokenError("this is no service account token that is bound to a pod") from None


def meant_for(token: str, audience: str) -> bool:
    """True when the token says that it was made for this audience."""
    try:
        return _Meant.model_validate_json(_payload(token)).is_for(audience)
    except (ValidationError, ValueError):
        return False


def digest(token: str) -> bytes:
    """What stands for a token in memory."""
    return hashlib.sha256(token.encode()).digest()


class Passes:
    """What tokens prove, as long as they do."""

    def __init__(
        self,
        reviews: Reviews,
        gate: Gate,
        clock: Callable[[], float],
        today: Callable[[], float],
    ) -> None:
        self._reviews = reviews
        self._gate = gate
        self._today = today
        self._memo: Memo[bytes, Proof | None] = Memo(_REMEMBERED, clock)

    def read(self, token: str) -> Claims:
        """What the token says of itself, where that could be true.

        Raises:
            TokenError: when it cannot.
        """
        said = claims(token)
        if not said.is_for(AUDIENCE):
            raise TokenError(f"this token is not for the audience {AUDIENCE}")
        if said.exp <= self._today():
            raise TokenError("this token has expired: read its file anew before each report")
        return said

    async def proof(self, token: str, said: Claims, address: str) -> Proof:
        """Which pod it is, by the word of the API server.

        Raises:
            TokenError: when the API server does not take it for what it says.
            BusyError: when there are too many questions.
            ApiError: when the API server does not say.
        """

        async def ask() -> tuple[Proof | None, float]:
            async with self._gate.turn(address):
                user = await self._reviews.user(token, AUDIENCE)
            if user is None or not _agrees(user, said):
                return None, _REFUSED
            left = said.exp - self._today()
            proof = Proof(said.pod_uid, said.bound.pod.name, said.bound.namespace)
            return proof, min(max(left, _SHORTEST), _LONGEST)

        proof = await self._memo.get(digest(token), ask)
        if proof is None:
            raise TokenError("the API server does not take this token")
        return proof


def _payload(token: str) -> bytes:
    """The middle part of a token.

    Raises:
        ValueError: when there is none.
    """
    _, payload, _ = token.split(".")
    return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


def _agrees(user: User, said: Claims) -> bool:
    told = user.pod_uid, user.pod, user.namespace
    return told == (said.pod_uid, said.bound.pod.name, said.bound.namespace)
