"""Options that commands share, with kubectl's names: before the command's name or after it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
_PLACE = "trainingjobs.where"


class Command(click.Command):
    r"""A command whose help has `{program}` for the program as it was called, and click's `\b`."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        called = ctx.find_root().info_name or "trainingjob"
        self.help = (self.help or "").replace("{program}", called).replace(r"\b", "\b")
        super().format_help_text(ctx, formatter)


def program() -> str:
    """How the program was called."""
    return click.get_current_context().find_root().info_name or "trainingjob"


def where(function: Function) -> Function:
    """Which cluster and which namespace."""
    for names, metavar, words in (
        (("--kubeconfig",), "FILE", "The kubeconfig to read."),
        (("--context",), "NAME", "The context of the kubeconfig."),
        (("-n", "--namespace"), "NAME", "The namespace."),
    ):
        option = click.option(
            *names, metavar=metavar, help=words, expose_value=False, callback=_remember
        )
        function = option(function)
    return function


def _remember(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta.setdefault(_PLACE, {})[param.name] = value


def place() -> dict[str, str]:
    """What the current command was told of the cluster: namespace, context, kubeconfig."""
    found: dict[str, str] = click.get_current_context().meta.get(_PLACE, {})
    return dict(found)


def job(function: Function) -> Function:
    """The name of a job, as `mnist` or, as kubectl prints it, `trainingjob/mnist`."""
    return click.argument("name", metavar="JOB", callback=_bare)(function)


def _bare(ctx: click.Context, param: click.Parameter, value: str) -> str:
    del ctx, param
    return value.rpartition("/")[2]


def output(*formats: str) -> Callable[[Function], Function]:
    """`-o`, in one of these formats."""
    return click.option(
        "-o", "--output", "form", type=click.Choice(formats), help="Another form of the output."
    )
