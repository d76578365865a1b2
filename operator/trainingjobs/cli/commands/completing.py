"""`completion`: what a shell has to read to complete this program's commands."""

import click

from trainingjobs.cli import completion, options


@click.command("completion", cls=options.Command)
@click.argument("shell", type=click.Choice(completion.SHELLS))
def completion_(shell: str) -> None:
    r"""Print what a shell has to read to complete `trainingjob`.

    kubectl's own completion asks for `kubectl tj` by itself.

    \b
    Examples:
      source <(trainingjob completion bash)
      trainingjob completion fish | source
    """
    click.echo(completion.script(shell, "trainingjob"))
