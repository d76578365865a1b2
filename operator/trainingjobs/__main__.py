"""The command line: `python -m trainingjobs run`, or `version`."""

import argparse
import asyncio
import dataclasses
import os
import sys
from collections.abc import Sequence

import uvloop

from trainingjobs import __version__
from trainingjobs.handlers import logs, process, start
from trainingjobs.settings import Settings, from_environment

_BAD_USE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code of the process."""
    chosen = _parser().parse_args(arguments)
    if chosen.command == "version":
        print(__version__)
        return 0
    try:
        return _run(_settings(chosen))
    except (ValueError, OSError) as error:
        print(f"trainingjob-operator: {error}", file=sys.stderr)
        return _BAD_USE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="trainingjob-operator", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", help="serve TrainingJobs; settings are TRAININGJOBS_ variables"
    )
    run.add_argument(
        "--namespace",
        action="append",
        metavar="NAME",
        help="serve this namespace alone; may be given more than once",
    )
    run.add_argument("--port", type=int, help="where /healthz, /readyz and /metrics are")
    commands.add_parser("version", help="print the version")
    return parser


def _settings(chosen: argparse.Namespace) -> Settings:
    settings = from_environment(os.environ)
    if chosen.namespace:
        settings = dataclasses.replace(settings, namespaces=tuple(chosen.namespace))
    if chosen.port is not None:
        settings = dataclasses.replace(settings, port=chosen.port)
    return settings


def _run(settings: Settings) -> int:
    logs.set_up(settings.log_level, settings.log_format)
    process.collect_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(start.run(settings))


if __name__ == "__main__":
    sys.exit(main())
