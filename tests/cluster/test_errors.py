"""What a refusal means: who has to do something about it."""

import json
from typing import Any

import pytest

from trainingjobs.cluster import errors
from trainingjobs.cluster.errors import ApiError
from trainingjobs.model.observed import Trouble

LEAVING = {"causes": [{"reason": "NamespaceTerminating", "message": "namespace lab is leaving"}]}


@pytest.mark.parametrize(
    ("status", "message", "details", "trouble"),
    [
        (403, 'pods "a" is forbidden: exceeded quota: gpus, requested: …', {}, Trouble.QUOTA),
        (403, "unable to create: failed quota: gpus: must specify limits.cpu", {}, Trouble.QUOTA),
        (403, "pods is forbidden: User cannot create resource", {}, Trouble.FORBIDDEN),
        (403, 'violates PodSecurity "restricted:latest"', {}, Trouble.FORBIDDEN),
        (403, "unable to create new content in namespace lab", LEAVING, Trouble.LEAVING),
        (404, 'namespaces "lab" not found', {"kind": "namespaces"}, Trouble.LEAVING),
        (422, 'Pod "a" is invalid: spec.containers[0].image: Required value', {}, Trouble.INVALID),
        (400, "Pod in version v1 cannot be handled as a Pod", {}, Trouble.INVALID),
        (400, 'admission webhook "policy" denied the request: no', {}, Trouble.FORBIDDEN),
        (413, "Request entity too large", {}, Trouble.INVALID),
        (409, 'Operation cannot be fulfilled on resourcequotas "gpus"', {}, Trouble.UNAVAILABLE),
        (500, "failed calling webhook: connection refused", {}, Trouble.UNAVAILABLE),
        (429, "too many requests", {}, Trouble.UNAVAILABLE),
        (401, "Unauthorized", {}, Trouble.UNAVAILABLE),
        (0, "ClientConnectorError: refused", {}, Trouble.UNAVAILABLE),
    ],
)
def test_what_a_refused_create_means(
    status: int, message: str, details: dict[str, Any], trouble: Trouble
) -> None:
    problem = errors.problem("a", ApiError(status, "Reason", message, details=details))
    assert problem.trouble is trouble
    assert problem.message == message


def test_a_status_is_read_in_full() -> None:
    answer = {
        "kind": "Status",
        "reason": "TooManyRequests",
        "message": "later",
        "details": {"retryAfterSeconds": 7},
    }
    error = errors.refusal(429, json.dumps(answer).encode(), None)
    assert (error.status, error.reason, error.message) == (429, "TooManyRequests", "later")
    assert error.retry_after == 7.0
    assert errors.refusal(429, json.dumps(answer).encode(), "3").retry_after == 3.0


@pytest.mark.parametrize("raw", [b"<html>Bad gateway</html>", b'"text"', b"\xff\xfe"])
def test_a_proxys_answer_is_told_as_it_is(raw: bytes) -> None:
    error = errors.refusal(502, raw, "soon")
    assert error.message
    assert error.retry_after is None


def test_a_name_that_is_taken_is_not_a_conflict_of_versions() -> None:
    assert errors.exists(ApiError(409, "AlreadyExists", "there"))
    assert not errors.exists(ApiError(409, "Conflict", "changed"))
