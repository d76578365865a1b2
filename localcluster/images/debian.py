"""The base of an image, out of Debian packages.

Where no image registry is reachable there is usually still a Debian mirror: the
one this machine installs its own packages from. mmdebstrap makes a root file
system from it, with what no program opens left out.
"""

import os
import pathlib
import re
import shutil
from collections.abc import Iterable, Sequence
from typing import Final

from localcluster import errors, progress
from localcluster.images import catalog

SUITE: Final = "trixie"
PROGRAMS: Final = ("buildah", "mmdebstrap")
LOCK_WAIT: Final = "-oDPkg::Lock::Timeout=300"
FORMAT: Final = "$(ORIGIN) $(LABEL) $(REPO_URI)"
MIRROR: Final = "DEBIAN_MIRROR"
NETWORK_SETTING: Final = re.compile(r'Acquire::(?:https?::|Check-)[\w:.-]* "[^"]+";')
NO_TRACE: Final = (
    'rm -f "$1/etc/apt/sources.list" "$1/etc/apt/apt.conf.d/99mmdebstrap"',
    'rm -f "$1/etc/resolv.conf" "$1/etc/hostname"',
)
"""Nothing of the machine that built an image stays in it."""
CLEANUP: Final = (
    # scipy imports numpy.testing, which needs numpy's own tests
    "find $1/usr/lib/python3 -type d -name tests ! -path '*/numpy/*' -prune -exec rm -rf {} +",
    *NO_TRACE,
)


def ensure() -> None:
    """See that the programs that build without a registry are there, or say what to do.

    Raises:
        ClusterError: when they are missing and this program cannot install them.
    """
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if os.geteuid() != 0 or (lacking and shutil.which("apt-get") is None):
        raise errors.ClusterError(
            "no Docker engine that reaches its registry was found, and without one the images\n"
            "are built from Debian packages, by root, with buildah and mmdebstrap.\n"
            "Start Docker, or run this as root on Debian or Ubuntu."
        )
    if lacking:
        _install([*lacking, "debian-archive-keyring"])


def bootstrap(image: catalog.Image, target: pathlib.Path) -> None:
    """Make the root file system of an image's base, as a tar archive."""
    argv = command(image, target, sources(), network())
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1750000000"}
    progress.run(argv, f"{image.name}: Debian packages", environment)


def command(
    image: catalog.Image, target: pathlib.Path, lines: Iterable[str], settings: Iterable[str]
) -> Sequence[str]:
    """The command line that makes a root file system."""
    return [
        "mmdebstrap",
        "--variant=essential",
        "--format=tar",
        f"--include={','.join(image.packages)}",
        *(f"--aptopt={setting}" for setting in settings),
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in image.left_out),
        *(f"--dpkgopt=path-include={pattern}" for pattern in image.kept),
        *(f"--customize-hook={line}" for line in CLEANUP),
        SUITE,
        str(target),
        *lines,
    ]


def network() -> Sequence[str]:
    """How this machine's apt reaches its mirrors: proxies, and how patient it is."""
    return NETWORK_SETTING.findall(progress.quick(["apt-config", "dump", "Acquire"]))


def sources() -> Sequence[str]:
    """Where packages come from: $DEBIAN_MIRROR, else what this machine's apt uses."""
    mirror = os.environ.get(MIRROR)
    if mirror:
        return [f"deb {mirror} {SUITE} main"]
    listed = ["apt-get", "indextargets", "--format", FORMAT, "Created-By: Packages"]
    return source_lines(progress.quick(listed))


def source_lines(targets: str) -> Sequence[str]:
    """The source lines of our suite, from what apt says of its own sources.

    Raises:
        ClusterError: when apt knows no Debian mirror.
    """
    mirrors: dict[str, str] = {}
    for target in targets.splitlines():
        origin, label, address = target.split(maxsplit=2)
        if origin == "Debian":
            mirrors.setdefault(label, address)
    if "Debian" not in mirrors:
        raise errors.ClusterError(
            f"apt on this machine knows no Debian mirror; name one: {MIRROR}=http://… "
            "(if it should know one: apt-get update)"
        )
    lines = [f"deb {mirrors['Debian']} {SUITE} main"]
    if "Debian-Security" in mirrors:
        lines.append(f"deb {mirrors['Debian-Security']} {SUITE}-security main")
    return lines


def _install(packages: Sequence[str]) -> None:
    progress.say(f"installing Debian packages: {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    progress.run(["apt-get", LOCK_WAIT, "update", "-q"], "apt-get update", environment)
    install = ["apt-get", LOCK_WAIT, "install", "-q", "-y", "--no-install-recommends", *packages]
    progress.run(install, "apt-get install", environment)
