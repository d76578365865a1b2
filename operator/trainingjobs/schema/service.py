"""The operator's HTTP service in OpenAPI: made from the models that check what comes in.

The committed copy is for people and generators of clients; a test compares the two.
"""

import json
from typing import Any

from pydantic.json_schema import models_json_schema

from trainingjobs.model.report import Answer, Report
from trainingjobs.model.whole import Refused, Stacks, Whole

PATH = "/openapi.json"
_JOB = "/api/v1/namespaces/{namespace}/trainingjobs/{name}"
_SCHEMAS = "#/components/schemas/{model}"
_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
_ERRORS = {
    400: "Not a report: what is wrong. Do not send this body again.",
    401: "No token, or one that the API server does not take for this.",
    403: "A pod of no TrainingJob, or of an attempt that is over; a user who may not.",
    404: "There is no such TrainingJob; told to those alone who may get it.",
    405: "Another method is served here.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "Not JSON, or compressed.",
    429: "More reports than were asked for: wait for Retry-After seconds.",
    503: "Busy, starting, or without an API server: wait for Retry-After seconds.",
}
_REPORTS = """\
One process says where it stands. The answer says in how many seconds the next report is
wanted; a change of stage, an error and the end may be sent earlier."""
_STANDING = """\
The status of a TrainingJob with all of its ranks, for whoever may `get` it. The token is one
with the audience `trainingjob.dev/status`; one for the API server opens nothing, unless the
operator is told that it may."""

_STACKS = """\
The stacks of all ranks as they were reported last, those at the same place together, for whoever
may `get` the job; the token is the same."""


def document() -> dict[str, Any]:
    """The description of the service."""
    told = [(model, "serialization") for model in (Answer, Whole, Stacks, Refused)]
    models: Any = [(Report, "validation"), *told]
    _, schemas = models_json_schema(models, ref_template=_SCHEMAS)
    return {
        "openapi": "3.1.0",
        "info": {"title": "TrainingJob Operator: the roll call", "version": "v1"},
        "paths": {
            "/api/v1/reports": {"post": _take()},
            _JOB: {
                "get": _tell("getTrainingJob", "The whole status of one job", _STANDING, "Whole")
            },
            f"{_JOB}/stacks": {
                "get": _tell("getStacks", "Where all ranks of one job stand", _STACKS, "Stacks")
            },
            PATH: {"get": _describe()},
        },
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "pod": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The pod's own token with the audience "
                    "`trainingjob.dev/reports`: the file /run/trainingjob/token.",
                },
                "user": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def text() -> str:
    """The description as a file."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def _take() -> dict[str, Any]:
    return {
        "operationId": "report",
        "summary": "Report one process",
        "description": _REPORTS,
        "security": [{"pod": []}],
        "requestBody": {"required": True, "content": _json("Report")},
        "responses": _responses("Answer", (400, 401, 403, 405, 408, 413, 415, 429, 503)),
    }


def _tell(operation: str, summary: str, words: str, model: str) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": _NAME, "maxLength": most},
        }
        for name, most in (("namespace", 63), ("name", 253))
    ]
    return {
        "operationId": operation,
        "summary": summary,
        "description": words,
        "security": [{"user": []}],
        "parameters": parameters,
        "responses": _responses(model, (401, 403, 404, 405, 503)),
    }


def _describe() -> dict[str, Any]:
    return {
        "operationId": "describe",
        "summary": "This description",
        "responses": {
            "200": {
                "description": "OpenAPI.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        },
    }


def _responses(model: str, errors: tuple[int, ...]) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": _json(model)}}
    for code in errors:
        answers[str(code)] = {"description": _ERRORS[code], "content": _json("Refused")}
        if code in {429, 503}:
            whole = {"type": "integer", "minimum": 1}
            answers[str(code)]["headers"] = {"Retry-After": {"schema": whole}}
    return answers


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _SCHEMAS.format(model=model)}}}
