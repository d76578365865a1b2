"""What the containers of a pod template say: commands, values of variables, probes, hooks."""

from collections.abc import Iterator
from typing import Any

from trainingjobs.model.spec import Manifest

_LOOKED_AT = ("startupProbe", "readinessProbe", "livenessProbe")
_HOOKS = ("postStart", "preStop")


def containers(template: Manifest, path: str) -> Iterator[tuple[str, Manifest]]:
    """All containers with their paths."""
    for kind in ("initContainers", "containers"):
        for container in template["spec"].get(kind) or []:
            yield f"{path}.{kind}.{container['name']}", container


def said(template: Manifest, path: str) -> Iterator[tuple[str, str]]:
    """Each text with its path."""
    for at, container in containers(template, path):
        for part in ("command", "args"):
            for item in items(container.get(part)):
                yield f"{at}.{part}", item
        for item in container.get("env") or []:
            yield f"{at}.env.{item['name']}", str(item.get("value") or "")
        yield from _asked(container, at)


def line(container: Manifest) -> str:
    """The command and its arguments in one line."""
    return " ".join([*items(container.get("command")), *items(container.get("args"))])


def items(listed: Any) -> list[str]:
    """The words of a command; none where it is no list."""
    return [str(item) for item in listed] if isinstance(listed, list) else []


def _asked(container: Manifest, at: str) -> Iterator[tuple[str, str]]:
    """What is run in the container, or asked for over the network, from outside."""
    hooks = container.get("lifecycle")
    asked = {name: container.get(name) for name in _LOOKED_AT}
    if isinstance(hooks, dict):
        asked |= {f"lifecycle.{name}": hooks.get(name) for name in _HOOKS}
    for name, found in asked.items():
        for way in found.values() if isinstance(found, dict) else ():
            if isinstance(way, dict):
                for item in [*items(way.get("command")), *items([way.get("host") or ""])]:
                    yield f"{at}.{name}", item
