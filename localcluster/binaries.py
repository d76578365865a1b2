"""Programs on demand: built once, found by every checkout afterwards.

`ensure` is what the tests of the project call. A program is written under
another name and then renamed, so a build that is cut leaves whole programs only,
and the next one goes on where it stopped.
"""

import hashlib
import os
import pathlib
import time
from collections.abc import Mapping, Sequence

from localcluster import cache, errors, gomodules, progress, toolchain

Programs = Mapping[str, gomodules.GoModule]


def ensure(names: Sequence[str] = (), known: Programs = gomodules.PROGRAMS) -> pathlib.Path:
    """Give a folder that holds the named programs (all without names), building what is missing."""
    wanted = list(names or known)
    if unknown := sorted(set(wanted) - set(known)):
        listed = ", ".join(known)
        raise errors.ClusterError(f"unknown program {', '.join(unknown)}; known are {listed}")
    home = folder(known)
    if _missing(home, wanted):
        with cache.alone(cache.folder() / "build.lock", "building programs"):
            _build({name: known[name] for name in _missing(home, wanted)}, home)
    return home


def one(module: gomodules.GoModule, program: str) -> pathlib.Path:
    """Give one program of a module that is no part of the cluster, built if it is missing."""
    if not (kept := _kept(module, program)).exists():
        with cache.alone(cache.folder() / "build.lock", "building programs"):
            if not kept.exists():
                progress.say(f"building {program}: about {max(1, round(module.minutes))} minutes")
                _compile(toolchain.go(), module, program, program)
    return kept


def folder(known: Programs = gomodules.PROGRAMS) -> pathlib.Path:
    """The folder of the programs of exactly these versions and flags."""
    keys = {module.name: module.key for module in known.values()}
    return cache.folder() / "bin" / hashlib.sha256("".join(keys.values()).encode()).hexdigest()[:12]


def estimate(programs: Programs) -> float:
    """About how many minutes a first build takes on two cores."""
    return sum({module.name: module.minutes for module in programs.values()}.values())


def _missing(home: pathlib.Path, wanted: Sequence[str]) -> list[str]:
    return [program for program in wanted if not (home / program).exists()]


def _build(missing: Programs, home: pathlib.Path) -> None:
    unbuilt = {name: module for name, module in missing.items() if not _kept(module, name).exists()}
    if unbuilt:
        minutes = max(1, round(estimate(unbuilt)))
        progress.say(
            f"building {len(unbuilt)} programs from their Go modules: about {minutes} minutes "
            "the first time on 2 cores, seconds when the Go cache has them"
        )
        _compile_all(unbuilt)
    for name, module in missing.items():
        _offer(_kept(module, name), home)


def _compile_all(programs: Programs) -> None:
    go = toolchain.go()
    began = time.monotonic()
    for number, (name, module) in enumerate(programs.items(), start=1):
        spent = progress.lasting(time.monotonic() - began)
        label = f"[{number}/{len(programs)}] {name}"
        progress.say(f"{label} ({spent} so far)")
        _compile(go, module, name, label)
    progress.say(f"built in {progress.lasting(time.monotonic() - began)}")


def _compile(go: pathlib.Path, module: gomodules.GoModule, program: str, label: str) -> None:
    target = _kept(module, program)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(
        f".{program}.{os.getpid()}.part"
    )  # a build that was cut may still write
    progress.run(
        [str(go), *module.arguments(program, part)], label, _environment(static=module.static)
    )
    part.replace(target)
    for left in target.parent.glob(f".{program}.*.part"):
        left.unlink()


def _environment(*, static: bool) -> dict[str, str]:
    own = {"GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    return {**os.environ, **own, **({"CGO_ENABLED": "0"} if static else {})}


def _kept(module: gomodules.GoModule, program: str) -> pathlib.Path:
    """Where a built program is kept: per module, so one new version rebuilds one module."""
    return cache.folder() / "built" / f"{module.name}-{module.key}" / program


def _offer(kept: pathlib.Path, home: pathlib.Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    part = home / f".{kept.name}.part"
    part.unlink(missing_ok=True)
    part.hardlink_to(kept)
    part.replace(home / kept.name)
    part.unlink(missing_ok=True)  # renaming one name of a file to another of its names does nothing
