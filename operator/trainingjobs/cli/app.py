"""The commands by name: each is loaded when it is called, so that help is there at once."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

from trainingjobs import __version__
from trainingjobs.cli import screen
from trainingjobs.cli.options import usage, where

GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "Run jobs": {
            "submit": ("submit", "Run a manifest or a script as a job, and follow its logs"),
            "retry": ("changing", "Run a job that is over once more, as a new one"),
            "wait": (
                "waiting",
                "Wait for a job's end: exit code 0 done, 1 failed, 124 too late, 3 unknown",
            ),
        },
        "Understand them": {
            "list": ("listing", "List jobs"),
            "describe": ("describing", "Show a job: root cause, ranks, attempts, what to do next"),
            "why": ("describing", "Say in one paragraph why a job waits, stalls or has failed"),
            "logs": ("logs", "Show what all ranks say, merged; -f follows over restarts"),
            "top": ("watching", "Watch a job on the screen: progress, rate, ranks, findings"),
            "stacks": (
                "stacking",
                "Show where every rank stands now, in which line of the script",
            ),
            "ui": ("looking", "Show the operator's page in a browser: all jobs, live"),
        },
        "Change them": {
            "cancel": ("changing", "Delete jobs, with their pods"),
            "suspend": ("changing", "Stop a job's pods, and keep the job"),
            "resume": ("changing", "Let a suspended job go on"),
            "scale": ("changing", "Give a job another number of pods"),
        },
        "Before a job, or without a cluster": {
            "doctor": (
                "doctor",
                "Look whether a job would run here: operator, rights, quota, room",
            ),
            "explain": (
                "explaining",
                "Show every rank's environment and pod, without a cluster",
            ),
            "run-local": ("running", "Run a script as a group of processes on this machine"),
            "convert": ("converting", "Turn other operators' jobs into TrainingJobs"),
            "completion": (
                "completing",
                "Print what a shell has to read to complete commands",
            ),
        },
    }
)
"""Each command's module, and one line about it."""
COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {name: told for group in GROUPS.values() for name, told in group.items()}
)


class Commands(click.Group):
    """A group that knows its commands' names and one line about each, and no more."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, loaded now."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"trainingjobs.cli.commands.{COMMANDS[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name.replace("-", "_") + "_")
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that begin like this, without loading any command."""
        found = [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        """Read the command line up to the command's name."""
        with screen.misused():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Read the rest, and do it."""
        with screen.misused():
            return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help in kubectl's order, without loading any command."""
        formatter.write_text(self.help or "")
        widest = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{widest}}", it[1]) for name, it in commands.items()])
        click.Command.format_options(self, ctx, formatter)  # a group's has all commands once more
        usage(self, ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(f'Use "{ctx.command_path} COMMAND --help" for more about a command.')


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(version)s")
@where
def app() -> None:
    """Run, watch and understand distributed training jobs on Kubernetes."""
