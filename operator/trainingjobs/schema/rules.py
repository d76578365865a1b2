"""What the models cannot say: rules that span fields or compare with what was there before.

They are CEL in the resource definition, so the API server keeps them while the operator is
down. Every message says what to do, not only what is wrong.
"""

from collections.abc import Mapping
from types import MappingProxyType

from trainingjobs.model.limits import MAX_RANKS
from trainingjobs.schema.openapi import Schema

MAX_TENSORFLOW = 500
"""Twice as many long names, and a TF_CONFIG would be longer than Linux lets a variable be."""
_FIXED = ("framework", "template", "processesPerInstance", "port")
_FIXED_OPTIONAL = ("masterTemplate",)
_STOPPED = "oldSelf.suspend || self.suspend"
"""What starts next starts anew. Kueue admits a job with a changed template, and takes it back
with its own, in one write each: the first is from suspended, the second to it."""
_STOP_FIRST = (
    "cannot change while the job runs, nor once it has finished: set spec.suspend to true first, "
    "or create a new job"
)


def rule(expression: str, message: str, *, says: str | None = None, field: str = "") -> Schema:
    """One rule; `says` is an expression that makes a better message from the values."""
    return {
        "rule": expression,
        "message": message,
        **({"messageExpression": says} if says else {}),
        **({"fieldPath": f".{field}"} if field else {}),
    }


def same(field: str) -> str:
    """The expression that a field which may be absent is as it was."""
    return (
        f"has(self.{field}) == has(oldSelf.{field}) && "
        f"(!has(self.{field}) || self.{field} == oldSelf.{field})"
    )


def _fixed_while_running() -> list[Schema]:
    expressions = {field: f"self.{field} == oldSelf.{field}" for field in _FIXED} | {
        field: same(field) for field in _FIXED_OPTIONAL
    }
    return [
        rule(f"{_STOPPED} || ({unchanged})", f"{field} {_STOP_FIRST}", field=field)
        for field, unchanged in expressions.items()
    ]


def _size() -> list[Schema]:
    size = "PARALLEL_INSTANCES"
    processes = "self.processesPerInstance"
    return [
        rule(
            f"type({processes}) != int || "
            f"(has(self.elastic) ? self.elastic.maxInstances : self.{size}) * {processes} "
            f"<= {MAX_RANKS}",
            f"instances times processesPerInstance must be at most {MAX_RANKS}",
            field=size,
        ),
        rule(
            f"{_STOPPED} || has(self.elastic) || self.{size} == oldSelf.{size}",
            f"{size} {_STOP_FIRST}; a job with spec.elastic may change it at any time",
            field=size,
        ),
        rule(
            f"!has(self.elastic) || (self.elastic.minInstances <= self.{size} && "
            f"self.{size} <= self.elastic.maxInstances)",
            f"{size} must lie between spec.elastic.minInstances and spec.elastic.maxInstances",
            field=size,
        ),
        rule(
            f"self.framework != 'TensorFlow' || self.{size} <= {MAX_TENSORFLOW}",
            f"{size} must be at most {MAX_TENSORFLOW} with framework TensorFlow: each instance "
            "gets a TF_CONFIG that lists all of them",
            field=size,
        ),
    ]


_OWNER = rule(
    same("managedBy"),
    "managedBy cannot change: create a new job for another controller",
    field="managedBy",
)
_BOUNDS = rule(
    "self.minInstances <= self.maxInstances",
    "minInstances must not be greater than maxInstances",
)
_PROCESSES = rule(
    "type(self) == int ? self >= 1 && self <= 1024 : self == 'auto'",
    "must be an integer from 1 to 1024, or auto",
)

OF_SPEC: Mapping[str, list[Schema]] = MappingProxyType(
    {
        "": [*_fixed_while_running(), *_size(), _OWNER],
        "elastic": [_BOUNDS],
        "processesPerInstance": [_PROCESSES],
    }
)
"""The rules of each field of the spec; the empty name is the spec itself."""
