"""YAML in and out: a stream of documents as kubectl reads it, and the stream that comes of it.

What is no training job goes out as the very text that came in.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from trainingjobs.convert.bounds import bounded
from trainingjobs.convert.source import NotConvertible

MAX_CHARACTERS = 2_000_000
MAX_DOCUMENTS = 1000
_MAX_ALIASES = 100
_MAX_FIELDS = 2000
_MAX_LISTED = 200_000
"""Values in all items of a List."""
_LIST = "List"
_TAG = "tag:yaml.org,2002:"
_OTHERWISE = (f"{_TAG}timestamp", f"{_TAG}int", f"{_TAG}float")
"""What YAML 1.1 reads otherwise than kubectl does: 12:30 as a number, 1e3 as text."""
_NUMBERS = (
    ("int", re.compile(r"[-+]?(0b[01]+|0x[0-9a-fA-F]+|0o?[0-7]*|[1-9][0-9_]*)")),
    ("float", re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan")),
)
_NO_TRUTH = {"y", "Y", "n", "N"}
"""True or false for some readers, and text here."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document, and its text where it has one of its own."""

    value: Any
    text: str
    twice: str = ""
    """A field that is there twice, and where; empty where none is."""


class _Loader(yaml.SafeLoader):
    """Numbers as kubectl reads them, dates as text; what would grow without end is refused."""

    yaml_implicit_resolvers = {  # noqa: RUF012  as the parent declares it
        letter: [(tag, pattern) for tag, pattern in pairs if tag not in _OTHERWISE]
        for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    _aliases = 0
    twice = ""

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._aliases += self.check_event(yaml.AliasEvent)
        if self._aliases > _MAX_ALIASES:
            raise NotConvertible(f"more than {_MAX_ALIASES} aliases")
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen and not self.twice:
                    self.twice = f"line {key.start_mark.line + 1}: {key.value} is there twice"
                seen.add(key.value)
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > _MAX_FIELDS:
            raise NotConvertible(f"more than {_MAX_FIELDS} fields in one mapping")


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, exit codes in one line, and no aliases, which kubectl may not know."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: _Dumper, data: str) -> yaml.Node:
    if data in _NO_TRUTH or not data.replace("\n", "").isprintable():
        return dumper.represent_scalar(f"{_TAG}str", data, style='"')
    return dumper.represent_scalar(f"{_TAG}str", data, style="|" if "\n" in data else None)


def _list(dumper: _Dumper, data: list[Any]) -> yaml.Node:
    numbers = all(isinstance(item, int) for item in data)
    return dumper.represent_sequence(f"{_TAG}seq", data, flow_style=numbers or None)


for _name, _pattern in _NUMBERS:
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"({_pattern.pattern})$"), None)
    _Dumper.add_implicit_resolver(_TAG + _name, re.compile(f"({_pattern.pattern})$"), None)
_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def read(text: str) -> list[Document]:
    """All documents of a stream; the items of a List count as documents.

    Raises:
        NotConvertible: when it is no YAML, or too much.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotConvertible(f"more than {MAX_CHARACTERS} characters")
    try:
        found = [*_documents(_Loader(text), text)]
    except yaml.YAMLError as error:
        raise NotConvertible(f"no YAML: {_one_line(error)}") from error
    except (ValueError, TypeError) as error:
        raise NotConvertible(f"a value cannot be read: {_one_line(error)}") from error
    except RecursionError as error:
        raise NotConvertible("too many levels") from error
    if len(found) > MAX_DOCUMENTS:
        raise NotConvertible(f"more than {MAX_DOCUMENTS} documents")
    return found


def write(value: Any) -> str:
    """One document as text."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


def _documents(loader: _Loader, text: str) -> Iterator[Document]:
    while loader.check_node():
        loader.twice = ""
        node: Any = loader.get_node()
        value = loader.construct_document(node)
        yield from _items(value, _own_text(node, text), loader.twice)


def _items(value: Any, text: str, twice: str) -> Iterator[Document]:
    if _is_list(value):
        if twice:
            raise NotConvertible(twice)
        bounded(value, _MAX_LISTED)
        for item in _listed(value):
            yield Document(item, write(item))
    elif value is not None:
        yield Document(value, text, twice)


def _is_list(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and str(value.get("kind")).endswith(_LIST)
        and isinstance(value.get("items"), list)
    )


def _listed(value: Any) -> Iterator[Any]:
    """The items, also of lists in lists; a list of one kind says it for all of them."""
    kind = value["kind"].removesuffix(_LIST)
    inherited = {"apiVersion": value.get("apiVersion"), "kind": kind} if kind else {}
    for item in value["items"]:
        if _is_list(item):
            yield from _listed(item)
        else:
            yield inherited | item if isinstance(item, dict) else item


def _own_text(node: yaml.Node, text: str) -> str:
    start, end = node.start_mark, node.end_mark
    indent = text[start.index - start.column : start.index]
    begin = start.index - (len(indent) if not indent.strip() else 0)
    return text[begin : end.index].rstrip() + "\n"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]
