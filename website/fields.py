"""The fields of the resource, from the definition that the API server gets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainingjobs.schema import rules
from trainingjobs.schema.definition import definition
from trainingjobs.schema.template import pod_template

MADE = "<!-- Made by `make generate`: change the code that it is made from. -->\n"
_WHOLE = {"template", "masterTemplate"}
"""Pod templates: Kubernetes says what may be in them."""
_BOUNDS = ("minimum", "maximum")

Schema = Mapping[str, Any]

_SPEC = """\
# Fields of a TrainingJob

{made}
`kubectl explain trainingjob.spec` has the same words. `PARALLEL_INSTANCES` and `template` are all
that a job must have.

{table}
## What the API server refuses

Bounds and types, with the field's name; and what these rules say. They are part of the resource
definition, so they hold while the operator is down.

{refused}
Of a pod template it also refuses:

{template}"""
_STATUS = """\
# The status of a TrainingJob

{made}
`kubectl explain trainingjob.status` has the same words. Programs read the conditions, whose reasons
are in [states](states.md); `Finished` is true at either end.

{table}"""


def of_spec() -> str:
    """The page of the spec."""
    return _SPEC.format(
        made=MADE,
        table=_table(_schema("spec")),
        refused=_list(_of_rules()),
        template=_list(_messages(pod_template(""))),
    )


def of_status() -> str:
    """The page of the status."""
    return _STATUS.format(made=MADE, table=_table(_schema("status")))


def messages() -> list[str]:
    """All sentences with which the API server refuses a job."""
    return list(dict.fromkeys([*_of_rules(), *_messages(pod_template(""))]))


def _of_rules() -> list[str]:
    return [rule["message"] for of in rules.OF_SPEC.values() for rule in of]


def _messages(schema: Schema) -> Iterator[str]:
    """The messages of the rules in a schema, from the outside to the inside."""
    yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
    for child in schema.get("properties", {}).values():
        yield from _messages(child)
    if "items" in schema:
        yield from _messages(schema["items"])


def _schema(part: str) -> Schema:
    (version,) = definition()["spec"]["versions"]
    found: Schema = version["schema"]["openAPIV3Schema"]["properties"][part]
    return found


def _table(schema: Schema) -> str:
    rows = "".join(
        f"| `{name}` | {_kind(child)} | {default} | {_cell(child.get('description', ''))} |\n"
        for name, child, default in _rows(schema, "")
    )
    return f"| field | is | default | meaning |\n|---|---|---|---|\n{rows}"


def _rows(schema: Schema, prefix: str) -> Iterator[tuple[str, Schema, str]]:
    for name, child in schema.get("properties", {}).items():
        needed = name in schema.get("required", ())
        yield f"{prefix}{name}", child, _default(child, needed=needed)
        if name not in _WHOLE:
            inner = child.get("items", child)
            yield from _rows(inner, f"{prefix}{name}{'[]' if 'items' in child else ''}.")


def _default(schema: Schema, *, needed: bool) -> str:
    if needed:
        return "required"
    value = schema.get("default")
    if value is None:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or text"
    if schema.get("format") == "date-time":
        return "time"
    kind: str = schema.get("type", "")
    kind = {"string": "text", "array": "list"}.get(kind, kind)
    least, most = (schema.get(bound) for bound in _BOUNDS)
    if least is None:
        return kind
    return f"{kind}, {least} or more" if most is None else f"{kind}, {least} … {most}"


def _list(said: Iterable[str]) -> str:
    return "".join(f"- {_cell(message)}\n" for message in dict.fromkeys(said))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
