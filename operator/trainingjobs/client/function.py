"""A function of a notebook as a job: its source travels, and every rank calls it.

It takes what it needs with it: imports stand inside of it, and its arguments are plain values.
"""

import ast
import builtins
import dis
import functools
import inspect
import json
import os
import secrets
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, overload

from trainingjobs.client import script as scripts
from trainingjobs.client.aio import AsyncTrainingJobClient
from trainingjobs.client.errors import ClientError
from trainingjobs.client.script import Script
from trainingjobs.client.sync import TrainingJobClient

FILE = "train.py"
_HEAD = "from __future__ import annotations\n\n"
"""What stands in annotations is not there either, and need not be."""
_AS = "give dictionaries with texts as keys, lists, texts and numbers"
_INSIDE = "import or define it inside"
_NO_IMAGE = "which image has the function's libraries?"
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME"}
_OF_CLASSES = {"__name__", "__qualname__", "__module__", "__annotations__"}


@dataclass(frozen=True, slots=True)
class Distributed:
    """A function that may be called here, or by all ranks of a job."""

    function: Callable[..., Any]
    options: dict[str, Any]

    def __call__(self, *args: Any, **arguments: Any) -> Any:
        """Call it here, as if it were nothing special."""
        return self.function(*args, **arguments)

    def script(self, **arguments: Any) -> Script:
        """What is sent: the function, and a call of it.

        Raises:
            ClientError: when it cannot be sent, or nobody said in which image.
        """
        image = self.options.get("image") or os.environ.get(scripts.IMAGE)
        if not image:
            raise ClientError(f"{_NO_IMAGE} @distributed(image=…), or ${scripts.IMAGE}")
        files = {FILE: text(self.function, arguments)}
        return Script(files=files, **{**self.options, "image": image})

    @overload
    def submit(
        self, client: TrainingJobClient, name: str | None = None, **arguments: Any
    ) -> str: ...
    @overload
    def submit(
        self, client: AsyncTrainingJobClient, name: str | None = None, **arguments: Any
    ) -> Awaitable[str]: ...
    def submit(
        self,
        client: TrainingJobClient | AsyncTrainingJobClient,
        name: str | None = None,
        **arguments: Any,
    ) -> str | Awaitable[str]:
        """Start a job whose ranks all call the function; the job's name.

        Args:
            client: of the cluster; what an asynchronous one returns is awaited.
            name: of the job; else one is made from the function's.
            arguments: of the function.
        """
        script = self.script(**arguments)
        own = scripts.name(self.function.__name__, secrets.token_hex(2))
        return client.train(script, name or own)


def distributed(
    *, image: str | None = None, instances: int = 1, **options: Any
) -> Callable[[Callable[..., Any]], Distributed]:
    """Let a function be submitted as a job: `train.submit(client, epochs=3)`.

    Args:
        image: with the libraries that it imports; else TRAININGJOB_IMAGE, when it is submitted.
        instances: pods of the group.
        options: of `Script`: gpus, cpus, memory, env, processes, framework, user.
    """
    chosen = {"image": image, "instances": instances, **options}
    return lambda function: Distributed(function, chosen)


def text(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """The file that every rank runs.

    Raises:
        ClientError: when the function has no source, takes something along that does not travel,
            or an argument is no plain value.
    """
    name = getattr(function, "__name__", repr(function))
    if wrong := _problem(function):
        raise ClientError(f"{name} cannot be sent: {wrong}")
    try:
        inspect.signature(function).bind(**arguments)
        told = json.dumps(arguments)
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError, ValueError) as error:
        raise ClientError(f"{name} cannot be sent: {error}") from error
    if changed := ", ".join(key for key, value in arguments.items() if not _plain(value)):
        raise ClientError(f"{name} cannot be sent: {changed} would arrive as something else: {_AS}")
    begin = f"def {name}("
    body = source[source.index(begin) :] if begin in source else ""
    if not body:
        raise ClientError(f"{name} cannot be sent: it is no plain function")
    if outside := ", ".join(sorted(_leans_on(function.__code__) | _of_defaults(body) - {name})):
        raise ClientError(f"{name} uses {outside} from outside of itself: {_INSIDE}")
    call = f"{name}(**json.loads({told!r}))"
    return f'{_HEAD}import json\n\n\n{body}\n\nif __name__ == "__main__":\n    {call}\n'


def _problem(function: Callable[..., Any]) -> str | None:
    """What keeps it from being called where it arrives, if something does."""
    if isinstance(function, functools.partial):
        return "it is a partial: define a function that calls it"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "it is `async`, and nobody waits for it: call asyncio.run inside of a plain one"
    if inspect.isgeneratorfunction(function):
        return "it is a generator, and nobody takes what it yields"
    if hasattr(function, "__wrapped__"):
        return "another decorator is around it, and would not come along"
    return None if inspect.isfunction(function) else "it is no plain function"


def _plain(value: Any) -> bool:
    """True for what JSON brings as it is: of a tuple it makes a list, of a key a text."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_plain(item) for item in value)
    return value is None or isinstance(value, int | float | str)


def _of_defaults(body: str) -> set[str]:
    """Names in the values of defaults, which are looked up where the function is defined."""
    defined = ast.parse(body).body[0]
    if not isinstance(defined, ast.FunctionDef):
        return set()
    values = [value for value in (*defined.args.defaults, *defined.args.kw_defaults) if value]
    names = [node for value in values for node in ast.walk(value) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound - vars(builtins).keys()


def _leans_on(code: CodeType) -> set[str]:
    """Names from around the function, which are not there where it runs."""
    steps = list(dis.get_instructions(code))
    own = {step.argval for step in steps if step.opname == "STORE_NAME"}  # of a class's body
    loaded = {step.argval for step in steps if step.opname in _LOADS} - own - _OF_CLASSES
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    found = (loaded - vars(builtins).keys()) | set(code.co_freevars)
    return found | {
        name for part in inner for name in _leans_on(part) if name not in code.co_cellvars
    }
