"""Programs on demand: built once, found by every checkout afterwards.

`ensure` is what the tests of the project call. A program is written under
another name and then renamed, so a build that is cut leaves whole programs only,
and the next one goes on where it stopped.
"""

import hashlib
import os
import pathlib
import time
from collections.abc import Sequence

from localcluster import cache, errors, gomodules, progress, toolchain


def ensure(names: Sequence[str] = ()) -> pathlib.Path:
    """Give a folder that holds the named programs (all without names), building what is missing."""
    wanted = list(names or gomodules.PROGRAMS)
    if unknown := sorted(set(wanted) - set(gomodules.PROGRAMS)):
        known = ", ".join(gomodules.PROGRAMS)
        raise errors.ClusterError(f"unknown program {', '.join(unknown)}; known are {known}")
    if _missing(wanted):
        with cache.alone(cache.folder() / "build.lock", "building programs"):
            _build(_missing(wanted))
    return folder()


def one(module: gomodules.GoModule, program: str) -> pathlib.Path:
    """Give one program of a module that is no part of the cluster, built if it is missing."""
    if not (kept := _kept(module, program)).exists():
        with cache.alone(cache.folder() / "build.lock", "building programs"):
            if not kept.exists():
                progress.say(f"building {program}: about {max(1, round(module.minutes))} minutes")
                _compile(toolchain.go(), module, program, program)
    return kept


def folder() -> pathlib.Path:
    """The folder of the programs of exactly these versions and flags."""
    keys = "".join(module.key for module in gomodules.MODULES)
    return cache.folder() / "bin" / hashlib.sha256(keys.encode()).hexdigest()[:12]


def estimate(programs: Sequence[str]) -> float:
    """About how many minutes a first build takes on two cores."""
    modules = {
        gomodules.PROGRAMS[program].name: gomodules.PROGRAMS[program] for program in programs
    }
    return sum(module.minutes for module in modules.values())


def _missing(wanted: Sequence[str]) -> list[str]:
    home = folder()
    return [program for program in wanted if not (home / program).exists()]


def _build(missing: Sequence[str]) -> None:
    unbuilt = [program for program in missing if not _own(program).exists()]
    for program in missing:
        if program not in unbuilt:
            _offer(program)
    if unbuilt:
        minutes = max(1, round(estimate(unbuilt)))
        progress.say(
            f"building {len(unbuilt)} programs from their Go modules: about {minutes} minutes "
            "the first time on 2 cores, seconds when the Go cache has them"
        )
        _compile_all(unbuilt)


def _compile_all(programs: Sequence[str]) -> None:
    go = toolchain.go()
    began = time.monotonic()
    for number, program in enumerate(programs, start=1):
        spent = progress.lasting(time.monotonic() - began)
        label = f"[{number}/{len(programs)}] {program}"
        progress.say(f"{label} ({spent} so far)")
        _compile(go, gomodules.PROGRAMS[program], program, label)
        _offer(program)
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


def _own(program: str) -> pathlib.Path:
    return _kept(gomodules.PROGRAMS[program], program)


def _kept(module: gomodules.GoModule, program: str) -> pathlib.Path:
    """Where a built program is kept: per module, so one new version rebuilds one module."""
    return cache.folder() / "built" / f"{module.name}-{module.key}" / program


def _offer(program: str) -> None:
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    part = home / f".{program}.part"
    part.unlink(missing_ok=True)
    part.hardlink_to(_own(program))
    part.replace(home / program)
    part.unlink(missing_ok=True)  # renaming one name of a file to another of its names does nothing
