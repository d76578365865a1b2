"""Promises: any document gets a verdict, a job is valid, and nothing is lost in silence."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from convert.valid import faults
from trainingjobs.convert import documents, stream
from trainingjobs.convert.core import Converted, Other, Refused, convert, identity

INPUTS = Path(__file__).parent / "inputs"
SAMPLES = [
    document
    for path in sorted(INPUTS.glob("*.yaml"))
    for document in yaml.load_all(path.read_text(), documents._Loader)  # noqa: SLF001
    if not isinstance(convert(document), Other)
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a document."""
    yield at
    listed = dict(enumerate(value)) if isinstance(value, list) else value
    for key, child in listed.items() if isinstance(listed, dict) else ():
        yield from paths(child, (*at, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy in which one value is another."""
    if not path:
        return value
    copied = copy.deepcopy(document)
    holder = copied
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copied


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A job of another operator in which a few values are anything."""
    document = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        places = [path for path in paths(document) if path[:1] not in {(), ("kind",)}]
        path = draw(st.sampled_from(places))
        document = changed(document, path, draw(JSON))
    return document


def check(document: Any) -> None:
    """Every verdict is sound."""
    before = copy.deepcopy(document)
    result = convert(document)
    assert repr(document) == repr(before)
    if isinstance(result, Refused):
        assert result.why
    if isinstance(result, Converted):
        assert faults(result.manifest) == []
        text = documents.write(result.manifest)
        assert documents.read(text)[0].value == result.manifest


@given(damaged())
@settings(max_examples=150, deadline=None)
def test_a_damaged_job_is_refused_or_becomes_a_valid_one(document: Any) -> None:
    check(document)


@given(
    st.sampled_from(sorted({identity(document) for document in SAMPLES})),
    st.dictionaries(st.sampled_from(["metadata", "spec", "status"]) | st.text(max_size=5), JSON),
)
@settings(deadline=None)
def test_anything_that_calls_itself_a_job_gets_a_verdict(names: Any, body: dict[str, Any]) -> None:
    check({**body, "apiVersion": names[0], "kind": names[1]})


@given(st.text(max_size=60) | JSON.map(documents.write))
@settings(deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    done = stream.convert([("stdin", text)])
    assert not done.refused or done.words


def marks(document: Any) -> Iterator[tuple[str, str]]:
    """Each variable and each volume of a document: its path, as notes write it, and its name."""
    for path in paths(document):
        if len(path) > 2 and path[-1] == "name" and path[-3] in {"env", "volumes", "volumeMounts"}:
            name = document
            for key in path:
                name = name[key]
            yield written(path[:-1]), str(name)


def written(path: tuple[Any, ...]) -> str:
    """`spec.tasks[0].name`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


@st.composite
def furnished(draw: st.DrawFn) -> Any:
    """A sound job whose containers have further variables and whose pods have further volumes."""
    document = copy.deepcopy(draw(st.sampled_from(SAMPLES)))
    number = iter(range(1000))
    for path in [*paths(document)]:
        holder = document
        for key in path:
            holder = holder[key]
        if not isinstance(holder, dict) or not draw(st.booleans()):
            continue
        if "containers" in holder:
            own = [{"name": f"vol-{next(number)}", "emptyDir": {}}]
            holder["volumes"] = [*holder.get("volumes", []), *own]
            helper = {"name": "helper", "env": [{"name": f"OF_HELPER_{next(number)}"}]}
            kind = draw(st.sampled_from(["containers", "initContainers"]))
            holder[kind] = [*holder.get(kind, []), helper]
        if "image" in holder:
            more = [{"name": f"MARK_{next(number)}", "value": "1"}, {"name": "RANK", "value": "7"}]
            holder["env"] = [*holder.get("env", []), *more]
    return document


@given(furnished())
@settings(max_examples=100, deadline=None)
def test_no_variable_and_no_volume_is_lost_in_silence(document: Any) -> None:
    result = convert(document)
    if isinstance(result, Refused):
        return
    assert isinstance(result, Converted)
    assert faults(result.manifest) == []
    there = {name for _, name in marks(result.manifest)}
    told = {note.path for note in result.notes}
    for path, name in marks(document):
        variable = f"{path[: path.rindex('[')]}.{name}"
        assert name in there or variable in told or any(path.startswith(it) for it in told), path
