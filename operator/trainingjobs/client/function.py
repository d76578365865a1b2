"""A function of a notebook as a job: its source travels, and every rank calls it.

It takes what it needs with it: imports stand inside of it, and its arguments are plain values.
"""

import builtins
import dis
import inspect
import json
import secrets
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from trainingjobs.client import script as scripts
from trainingjobs.client.failures import ClientError
from trainingjobs.client.script import Script
from trainingjobs.client.sync import TrainingJobClient

FILE = "train.py"
_HEAD = "from __future__ import annotations\n\n"
"""What stands in annotations is not there either, and need not be."""


@dataclass(frozen=True, slots=True)
class Distributed:
    """A function that may be called here, or by all ranks of a job."""

    function: Callable[..., Any]
    options: dict[str, Any]

    def __call__(self, *args: Any, **arguments: Any) -> Any:
        """Call it here, as if it were nothing special."""
        return self.function(*args, **arguments)

    def script(self, **arguments: Any) -> Script:
        """What is sent: the function, and a call of it."""
        return Script(files={FILE: text(self.function, arguments)}, **self.options)

    def submit(self, client: TrainingJobClient, name: str | None = None, **arguments: Any) -> str:
        """Start a job whose ranks all call the function; the job's name.

        Args:
            client: of the cluster.
            name: of the job; else one is made from the function's.
            arguments: of the function.
        """
        own = scripts.name(self.function.__name__, secrets.token_hex(2))
        return client.train(self.script(**arguments), name or own)


def distributed(
    *, image: str, instances: int = 1, **options: Any
) -> Callable[[Callable[..., Any]], Distributed]:
    """Let a function be submitted as a job: `train.submit(client, epochs=3)`.

    Args:
        image: with the libraries that it imports.
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
    try:
        inspect.signature(function).bind(**arguments)
        told = json.dumps(arguments)
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError, ValueError) as error:
        raise ClientError(f"{function.__name__} cannot be sent: {error}") from error
    if outside := ", ".join(sorted(_leans_on(function.__code__) - {function.__name__})):
        raise ClientError(
            f"{function.__name__} uses {outside} from outside of itself: import or define it inside"
        )
    begin = f"def {function.__name__}("
    body = source[source.index(begin) :] if begin in source else ""
    if not body:
        raise ClientError(f"{function.__name__} cannot be sent: it is no plain function")
    call = f"{function.__name__}(**json.loads({told!r}))"
    return f'{_HEAD}import json\n\n\n{body}\n\nif __name__ == "__main__":\n    {call}\n'


def _leans_on(code: CodeType) -> set[str]:
    """Names from around the function, which are not there where it runs."""
    loaded = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    found = (loaded - vars(builtins).keys()) | set(code.co_freevars)
    return found | {
        name for part in inner for name in _leans_on(part) if name not in code.co_cellvars
    }
