"""What the API server refused, and what that means for a job.

The difference that matters is between what the user has to change (an invalid template),
what somebody else has to change (quota, permissions, a foreign object) and what passes by
itself; only the words of the API server tell some of them apart.
"""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

from trainingjobs.model.observed import Problem, Trouble

BAD_REQUEST = 400
FORBIDDEN = 403
NOT_FOUND = 404
CONFLICT = 409
GONE = 410
TOO_LARGE = 413
UNPROCESSABLE = 422
MAX_WORDS = 1024

_QUOTA_WORDS = ("exceeded quota", "failed quota", "quota exceeded")
_POLICY_WORDS = ("admission webhook", "ValidatingAdmissionPolicy")


class ApiError(Exception):
    """The API server refused a request, or could not be reached (status 0)."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.retry_after = retry_after


class WebhookError(Exception):
    """A message that was not taken; in words that have nothing of its address."""

    def __init__(self, message: str, *, forever: bool = False) -> None:
        super().__init__(message)
        self.forever = forever
        """True where the same would be refused again."""


class NotLeadingError(Exception):
    """A write that was not sent."""

    def __init__(self) -> None:
        super().__init__("not sent: another replica may lead by now")


def refusal(status: int, raw: bytes, retry_after: str | None) -> ApiError:
    """The error in an answer; a proxy's answer need not be a Kubernetes Status."""
    answer: Any = None
    with suppress(ValueError):
        answer = json.loads(raw)
    if not isinstance(answer, dict):
        answer = {"message": raw[:MAX_WORDS].decode(errors="replace").strip()}
    details = answer.get("details") or {}
    seconds = retry_after or details.get("retryAfterSeconds")
    return ApiError(
        status,
        answer.get("reason") or "Unknown",
        answer.get("message") or "no reason given",
        details=details,
        retry_after=_seconds(seconds),
    )


def exists(error: ApiError) -> bool:
    """True when an object of this name is there already."""
    return error.status == CONFLICT and error.reason == "AlreadyExists"


def gone(error: ApiError) -> bool:
    """True when a resourceVersion or a continuation is too old."""
    return error.status == GONE


def problem(name: str, error: ApiError) -> Problem:
    """A refused create, as decisions know it."""
    return Problem(trouble=trouble(error), name=name, message=error.message[:MAX_WORDS])


def unchanged(name: str, error: ApiError) -> Problem:
    """A refused change: what is there and cannot be changed does not make the template wrong."""
    found = problem(name, error)
    invalid = found.trouble is Trouble.INVALID
    return replace(found, trouble=Trouble.UNCHANGED) if invalid else found


def trouble(error: ApiError) -> Trouble:
    """Which kind of refusal this is."""
    if _namespace_leaves(error):
        return Trouble.LEAVING
    if error.status == FORBIDDEN:
        words = error.message.lower()
        return Trouble.QUOTA if any(it in words for it in _QUOTA_WORDS) else Trouble.FORBIDDEN
    if error.status not in {BAD_REQUEST, UNPROCESSABLE, TOO_LARGE}:
        return Trouble.UNAVAILABLE
    # a policy that says no today may say yes tomorrow: the template need not be wrong
    refused = any(words in error.message for words in _POLICY_WORDS)
    return Trouble.FORBIDDEN if refused else Trouble.INVALID


def _namespace_leaves(error: ApiError) -> bool:
    causes = error.details.get("causes") or ()
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return True
    return error.status == NOT_FOUND and error.details.get("kind") == "namespaces"


def _seconds(value: object) -> float | None:
    with suppress(TypeError, ValueError):
        return float(value)  # type: ignore[arg-type]
    return None
