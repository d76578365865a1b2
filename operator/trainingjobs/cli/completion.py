"""What a shell completes: commands, options and, asked of the cluster, names of jobs.

kubectl asks a plugin by a program of its own, `kubectl_complete-tj`, with what was typed so far.
"""

import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, ShellComplete

from trainingjobs.cli.app import app

SHELLS = ("bash", "zsh", "fish")
_NO_FILES, _FILES = 4, 0
"""cobra's directives, which kubectl's completion scripts read."""


def main() -> None:
    """Answer kubectl: an item a line, then a directive."""
    sys.stdout.write("\n".join(answer(sys.argv[1:])) + "\n")


def answer(typed: Sequence[str]) -> list[str]:
    """The lines for what was typed, the last word of it unfinished."""
    *whole, last = typed or [""]
    items = ShellComplete(app, {}, "kubectl tj", "").get_completions(list(whole), last)
    files = any(item.type in {"file", "dir"} for item in items)
    plain = [item for item in items if item.type == "plain"]
    return [*map(_line, plain), f":{_FILES if files else _NO_FILES}"]


def _line(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)


def script(shell: str, program: str) -> str:
    """What the shell has to read to complete the program by itself."""
    made = click.shell_completion.get_completion_class(shell)
    if made is None:
        raise ValueError(shell)
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    return made(app, {}, program, variable).source()
