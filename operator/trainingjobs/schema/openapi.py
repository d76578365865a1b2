"""Pydantic's JSON schema as the structural schema that a resource definition may hold.

Kubernetes takes no references, no unions and no nulls: references are put in place, an
optional field is one that may be absent, and the one union that exists is int-or-string.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_AS_IS = (
    "description",
    "type",
    "format",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "maxProperties",
    "required",
)
_REFERENCE = "#/$defs/"


def structural(model: type[BaseModel], *, defaults: bool) -> Schema:
    """The model's structural schema.

    A status has no defaults: what the operator did not say must not appear as if it had.
    """
    raw = model.model_json_schema()
    return _node(raw, raw.get("$defs", {}), defaults=defaults)


def _node(raw: Schema, named: Mapping[str, Schema], *, defaults: bool) -> Schema:
    raw = _resolved(raw, named)
    node = {key: raw[key] for key in _AS_IS if key in raw}
    if defaults and raw.get("default") is not None:
        node["default"] = raw["default"]
    if "anyOf" in raw:
        node["x-kubernetes-int-or-string"] = True
    others = raw.get("additionalProperties")
    if others is True:
        node["x-kubernetes-preserve-unknown-fields"] = True
    elif others:
        node["additionalProperties"] = _node(others, named, defaults=defaults)
    if "items" in raw:
        node["items"] = _node(raw["items"], named, defaults=defaults)
    if "properties" in raw:
        node["properties"] = {
            name: _node(child, named, defaults=defaults)
            for name, child in raw["properties"].items()
        }
    return node


def _resolved(raw: Schema, named: Mapping[str, Schema]) -> Schema:
    """The schema without a reference or a null; its own words win over the referred ones."""
    if "$ref" in raw:
        target = named[raw["$ref"].removeprefix(_REFERENCE)]
        return _resolved({**target, **_without(raw, "$ref")}, named)
    kinds = [kind for kind in raw.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        return _resolved({**kinds[0], **_without(raw, "anyOf")}, named)
    return raw


def _without(raw: Schema, key: str) -> Schema:
    return {name: value for name, value in raw.items() if name != key}
