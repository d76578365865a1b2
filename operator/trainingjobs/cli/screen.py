"""What commands write: coloured for people at a terminal, plain for programs, never raw.

Names and messages come from the cluster, where others write them: a control character in one of
them would be obeyed by the terminal.
"""

import json
import os
import sys
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trainingjobs.cli import options
from trainingjobs.client.errors import ClientError

if TYPE_CHECKING:
    from trainingjobs.client.aio import AsyncTrainingJobClient

T = TypeVar("T")
INTERRUPTED = 130


def connect() -> "AsyncTrainingJobClient":
    """The client for the cluster that the command line names."""
    from trainingjobs.client.aio import AsyncTrainingJobClient  # noqa: PLC0415  not for help

    return AsyncTrainingJobClient(**options.place())


def run(work: Coroutine[Any, Any, T], left: str = "", *, wrong: "type[Failure] | None" = None) -> T:
    """What comes of it; what goes wrong is one line, and the exit code.

    Args:
        work: what to do.
        left: said to who interrupts it.
        wrong: what a failure becomes, where it has an exit code of its own.
    """
    import asyncio  # noqa: PLC0415  not for help

    try:
        return asyncio.run(work)
    except ClientError as error:
        raise (wrong or Failure)(" ".join(str(error).split())) from error
    except KeyboardInterrupt:
        if left:
            note(f"\n{safe(left)}")
        sys.exit(INTERRUPTED)


class Failure(click.ClickException):
    """What went wrong, in one line on the standard error."""

    def show(self, file: Any = None) -> None:
        """Write it."""
        del file
        note(f"error: {safe(self.message)}")


class Misuse(click.UsageError):
    """A command line that cannot be understood, told as kubectl does."""

    def show(self, file: Any = None) -> None:
        """Write it, and where to read on."""
        del file
        note(f"error: {safe(self.format_message())}")
        if self.ctx is not None:
            note(f"See '{safe(self.ctx.command_path)} --help' for usage.")


@contextmanager
def misused() -> Iterator[None]:
    """What click says of a command line is said in one form with all else."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:  # who says nothing is told everything
        raise
    except click.UsageError as error:
        raise Misuse(error.format_message(), error.ctx) from error


def at_terminal() -> bool:
    """True where a person reads the output."""
    return sys.stdout.isatty()


def draws() -> bool:
    """True where a picture can be drawn anew in its place."""
    return at_terminal() and os.environ.get("TERM") != "dumb"


def coloured() -> bool:
    """True where somebody sees colours: at a terminal, unless NO_COLOR has a value."""
    return draws() and not os.environ.get("NO_COLOR")


def safe(text: object) -> str:
    """The text in one line, with everything that a terminal would obey made visible."""
    return printable(" ".join(str(text).split()))


def printable(line: str) -> str:
    """The same, with its spaces as they are."""
    if line.isprintable():
        return line
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in line
    )


def write(lines: Iterable[str]) -> None:
    """Lines to the standard output."""
    for line in lines:
        click.echo(line, color=coloured())


def note(text: str) -> None:
    """A word to the person, apart from the output."""
    click.echo(text, err=True)


def cause(error: Exception) -> str:
    """What went wrong, without the number and the file's name that the system puts around it."""
    return getattr(error, "strerror", None) or str(error)


def document(value: Any, form: str) -> None:
    """A manifest as JSON or YAML; a script in it can be read as a script."""
    if form == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=True))
        return
    import yaml  # noqa: PLC0415  only for those who ask for it

    class Readable(yaml.SafeDumper):
        """Texts of several lines stand there line by line."""

    def text(dumper: yaml.SafeDumper, words: str) -> yaml.ScalarNode:
        style = "|" if "\n" in words else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", words, style=style)

    Readable.add_representer(str, text)
    click.echo(yaml.dump(value, Dumper=Readable, sort_keys=False), nl=False)


def done(manifest: Any, word: str, form: str | None) -> None:
    """What became of a job, in kubectl's words or in another form: `name`, `json`, `yaml`."""
    if form in {"json", "yaml"}:
        document(manifest, form)
    else:
        name = f"trainingjob.trainingjob.dev/{safe(manifest['metadata'].get('name'))}"
        click.echo(name if form else f"{name} {word}")
