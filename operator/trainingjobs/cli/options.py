"""Options that commands share, with kubectl's names: before the command's name or after it."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
_PLACE = "trainingjobs.where"
PHASES = "Suspended", "Pending", "Starting", "Running", "Restarting", "Succeeded", "Failed"
"""As the resource has them; to ask it would cost who wants help half a second."""
SCRIPTS_OWN = "args"
"""The parameter that takes what is the script's."""


class Command(click.Command):
    r"""A command whose help has `{program}` for the program as it was called, and click's `\b`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; an option that it does not know may be the script's own."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if all(it.name != SCRIPTS_OWN for it in self.params):
                raise
            name = error.option_name
            own = f"one of the script's own comes behind --, as in: train.py -- {name}."
            words = f"No such option {name!r}; {own}"
            raise click.NoSuchOption(name, words, error.possibilities, ctx) from error

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help in kubectl's order: what it does, examples, options, usage."""
        called = ctx.find_root().info_name or "trainingjob"
        words = cleandoc(self.help or "").replace("{program}", called).replace(r"\b", "\b")
        formatter.write_text(words)
        self.format_options(ctx, formatter)
        usage(self, ctx, formatter)


def usage(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write how it is called: the last that is said of it, as kubectl does."""
    with formatter.section("Usage"):
        formatter.write_text(" ".join([ctx.command_path, *command.collect_usage_pieces(ctx)]))


def program() -> str:
    """How the program was called."""
    return click.get_current_context().find_root().info_name or "trainingjob"


def where(function: Function) -> Function:
    """Which cluster and which namespace."""
    return cluster(_told("-n", "--namespace", "NAME", "The namespace.")(function))


def namespace(function: Function) -> Function:
    """Which namespace, where `-n` means something else as well."""
    return _told("--namespace", "--namespace", "NAME", "The namespace.")(function)


def cluster(function: Function) -> Function:
    """Which cluster."""
    context = _told("--context", "--context", "NAME", "The context of the kubeconfig.")
    return _told("--kubeconfig", "--kubeconfig", "FILE", "The kubeconfig to read.")(
        context(function)
    )


def _told(short: str, name: str, metavar: str, words: str) -> Callable[[Function], Function]:
    names = dict.fromkeys([short, name])
    return click.option(*names, metavar=metavar, help=words, expose_value=False, callback=_keep)


def _keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and param.name is not None:
        remember(ctx, param.name, value)


def remember(ctx: click.Context, name: str, value: str) -> None:
    """What was told of the cluster."""
    ctx.meta.setdefault(_PLACE, {})[name] = value


def place() -> dict[str, str]:
    """What the current command was told of the cluster: namespace, context, kubeconfig."""
    found: dict[str, str] = click.get_current_context().meta.get(_PLACE, {})
    return dict(found)


def job(function: Function) -> Function:
    """The name of a job, as `mnist` or, as kubectl prints it, `trainingjob/mnist`."""
    return click.argument("name", metavar="JOB", callback=_bare, shell_complete=_jobs)(function)


def _jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of jobs; none where the cluster does not answer at once."""
    del param
    from trainingjobs.cli.completing import names  # noqa: PLC0415  only for who presses Tab

    return names(ctx.meta.get(_PLACE, {}), incomplete)


def phases(flag: str, words: str) -> Callable[[Function], Function]:
    """Phases of jobs, in large or small letters; what is none is refused, with all that are."""
    kind = click.Choice(PHASES, case_sensitive=False)
    return click.option(flag, "phases", type=kind, multiple=True, metavar="PHASE", help=words)


def _bare(ctx: click.Context, param: click.Parameter, value: str) -> str:
    del ctx, param
    return value.rpartition("/")[2]


def bare_names(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Names of jobs, without what kubectl puts before them."""
    return tuple(_bare(ctx, param, value) for value in values)


def account(function: Function) -> Function:
    """Whose rights count at the operator's own service."""
    return click.option(
        "--account",
        default="",
        metavar="NAME",
        help="The service account whose rights count; else the operator's own.",
    )(function)


def output(*formats: str) -> Callable[[Function], Function]:
    """`-o`, in one of these formats."""
    return click.option(
        "-o", "--output", "form", type=click.Choice(formats), help="Another form of the output."
    )
