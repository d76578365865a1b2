"""What `submit` reads: one manifest, or the files of a script."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from trainingjobs.cli import options, screen
from trainingjobs.client import script as scripts
from trainingjobs.client.job import Manifest
from trainingjobs.client.script import Script
from trainingjobs.model import labels


def script(file: Path, args: tuple[str, ...], chosen: dict[str, Any]) -> Script:
    """The script that the command line speaks of, with its files.

    Raises:
        click.ClickException: when it cannot be sent.
    """
    own_image = image(chosen.pop("image"))
    files = _files([file, *chosen.pop("include")])
    if (wrong := scripts.problem(files)) is not None:
        raise screen.Failure(wrong)
    processes = chosen.pop("processes")
    own = {key: value for key, value in chosen.items() if key not in {"name", "instances"}}
    return Script(
        files=files,
        image=own_image,
        instances=chosen["instances"] or 1,
        args=args,
        processes=int(processes) if str(processes).isdecimal() else processes,
        **own,
    )


def image(told: str | None) -> str:
    """The image of a script's pods, told or usual.

    Raises:
        click.UsageError: when there is none.
    """
    found = told or os.environ.get(scripts.IMAGE)
    if not found:
        raise click.UsageError(
            f"which image has the script's libraries? --image, or ${scripts.IMAGE}"
        )
    return found


def unused(script: Script) -> str | None:
    """A word on GPUs that no process takes; other frameworks give all of a pod to one process."""
    from trainingjobs.model.spec import Framework  # noqa: PLC0415  manifests need none

    torch = script.framework in {None, Framework.PYTORCH.value}
    if not torch or script.gpus <= 1 or script.processes is not None:
        return None
    return f"one process is started for {script.gpus} GPUs: --processes auto starts one for each"


def _files(paths: Iterable[Path]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise screen.Failure(f"{path} is no text: put data on a volume") from error
        except OSError as error:
            raise screen.Failure(f"{path}: {screen.cause(error)}") from error
        if path.name.startswith(".."):
            raise screen.Failure(f"{path.name!r} is no name for a file that is sent: it has '..'")
        if path.name in found:
            raise screen.Failure(f"two files are called {path.name}")
        found[path.name] = text
    return found


def manifest(file: Path, args: tuple[str, ...], chosen: dict[str, Any]) -> Manifest:
    """The job in a file, or in the standard input, as the command line changes it.

    Raises:
        click.ClickException: when it has no job, or something else as well.
    """
    found = documents(file)
    kinds = [item.get("kind") if isinstance(item, dict) else item for item in found]
    if kinds != [labels.KIND]:
        raise screen.Failure(
            f"{file} has {', '.join(map(str, kinds)) or 'nothing'}: submit takes one TrainingJob; "
            "`kubectl apply -f` takes more, and `convert` makes one of other operators' jobs"
        )
    if (wrong := malformed(found[0])) is not None:
        raise screen.Failure(f"{file}: {wrong}")
    allowed = {"name", "instances"}
    ours = sorted(key for key, value in chosen.items() if value and key not in allowed)
    if args or ours:
        given = ", ".join([*(f"--{key.replace('_', '-')}" for key in ours), *args])
        raise click.UsageError(f"for scripts alone: {given}; a manifest has its own")
    return _changed(found[0], chosen)


def documents(file: Path) -> list[Any]:
    """All that is in a file of YAML or JSON; `-` is the standard input.

    Raises:
        screen.Failure: when it cannot be read.
    """
    import yaml  # noqa: PLC0415  scripts need none

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        return [item for item in yaml.safe_load_all(text) if item]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise screen.Failure(f"{file}: {screen.cause(error)}") from error


def malformed(manifest: Manifest) -> str | None:
    """What is no object, or no text, where everybody expects one; None where all is well."""
    metadata = manifest.get("metadata")
    for path, value in (("metadata", metadata), ("spec", manifest.get("spec"))):
        if not isinstance(value, dict | None):
            return f"{path} is no object with fields: {value!r}"
    for key in ("labels", "annotations"):
        if not isinstance((metadata or {}).get(key), dict | None):
            return f"metadata.{key} is no object with fields"
    for key in ("name", "namespace"):
        if not isinstance((metadata or {}).get(key), str | None):
            return f"metadata.{key} is no text; write it in quotes"
    return None


def _changed(found: Manifest, chosen: Mapping[str, Any]) -> Manifest:
    metadata, spec = found.get("metadata") or {}, found.get("spec") or {}
    if chosen["name"]:
        metadata = {**metadata, "name": chosen["name"]}
    if namespace := options.place().get("namespace"):
        metadata = {**metadata, "namespace": namespace}
    if chosen["instances"]:
        spec = {**spec, "PARALLEL_INSTANCES": chosen["instances"]}
    return {**found, "metadata": metadata, "spec": spec}
