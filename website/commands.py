"""Every command of the command line with all of its options, as the program itself has them."""

from collections.abc import Iterator
from inspect import cleandoc

import click

from trainingjobs.cli.app import COMMANDS, app
from website.fields import MADE

_SHARED = ("namespace", "context", "kubeconfig")
"""Said once for all commands."""
_PAGE = """\
# Commands and options

{made}
`trainingjob`, `kubectl trainingjob` and `kubectl tj` are one program; what its commands are for,
and what they print, is in [the command line](cli.md). `--help` of each has these words.

All that ask a cluster take these, before the command or behind it; for `submit` and
`run-local`, `-n` is the number of pods:

{shared}
{commands}"""


def page() -> str:
    """The whole page."""
    context = click.Context(app, info_name="trainingjob")
    shared = [option for option in app.params if option.name in _SHARED]
    found = [_command(context, name) for name in COMMANDS]
    return _PAGE.format(made=MADE, shared=_options(context, shared), commands="\n".join(found))


def _command(parent: click.Context, name: str) -> str:
    command = app.get_command(parent, name)
    if command is None:
        raise LookupError(name)
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([f"trainingjob {name}", *command.collect_usage_pieces(context)])
    own = [param for param in command.params if param.name not in _SHARED]
    parts = [f"## {name}\n", f"```text\n{usage}\n```\n", _help(command), _options(context, own)]
    return "\n".join(part for part in parts if part)


def _help(command: click.Command) -> str:
    """The help's sentences and its examples."""
    text = (command.help or "").replace("{program}", "trainingjob").replace("\\b", "\b")
    words, _, examples = text.partition("\b")
    lines = cleandoc(examples.replace("Examples:", "", 1)).strip()
    shown = f"```sh\n{lines}\n```\n" if lines else ""
    return "\n".join(part for part in (cleandoc(words).strip() + "\n", shown) if part)


def _options(context: click.Context, params: list[click.Parameter]) -> str:
    rows = "".join(f"| {name} | {words} |\n" for name, words in _rows(context, params))
    return f"| option | |\n|---|---|\n{rows}" if rows else ""


def _rows(context: click.Context, params: list[click.Parameter]) -> Iterator[tuple[str, str]]:
    for param in params:
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is not None:
            name, words = (text.replace("|", "\\|") for text in record)
            yield f"`{name}`", words
