"""The few programs that come from the distribution.

runc, the network plugins, nftables and iproute2 are packaged well by Debian and
are on many machines already. What is missing is installed only after saying so.
"""

import os
import pathlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from localcluster import errors, progress

PROGRAMS: Final[Mapping[str, str]] = {
    "ip": "iproute2",
    "mount": "mount",
    "nft": "nftables",
    "nsenter": "util-linux",
    "runc": "runc",
    "sysctl": "procps",
    "unshare": "util-linux",
}
PLUGINS: Final = ("host-local", "ptp")
PLUGIN_PACKAGE: Final = "containernetworking-plugins"
PLUGIN_FOLDERS: Final = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
LOCK_WAIT: Final = "-oDPkg::Lock::Timeout=300"
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where system programs lie; a user's PATH often lacks the half of it."""


def ensure() -> None:
    """See that every program of the distribution is there, or say what to do."""
    _install(missing(), advice)


def ensure_programs(names: Sequence[str]) -> None:
    """The same for programs that have a package of their own name."""
    _install([name for name in names if shutil.which(name) is None], _advice_of_name)


def _install(lacking: list[str], told: Callable[[list[str]], str]) -> None:
    if not lacking:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise errors.ClusterError(told(lacking))
    progress.say(f"installing Debian packages: {' '.join(lacking)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    progress.run(["apt-get", LOCK_WAIT, "update", "-q"], "apt-get update", env)
    install = ["apt-get", LOCK_WAIT, "install", "-q", "-y", "--no-install-recommends", *lacking]
    progress.run(install, "apt-get install", env)


def missing() -> list[str]:
    """The packages whose programs are not on this machine."""
    path = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"
    lacking = {
        package for name, package in PROGRAMS.items() if shutil.which(name, path=path) is None
    }
    if plugins() is None:
        lacking.add(PLUGIN_PACKAGE)
    return sorted(lacking)


def plugins() -> pathlib.Path | None:
    """The folder with the network plugins, wherever the distribution puts it."""
    folders = map(pathlib.Path, PLUGIN_FOLDERS)
    return next((at for at in folders if all((at / name).exists() for name in PLUGINS)), None)


def advice(lacking: list[str]) -> str:
    """What to do on a machine where this program cannot install packages."""
    return (
        f"{_advice_of_name(lacking)}\n"
        "On another system install runc, nftables, iproute2 and the CNI plugins (ptp and "
        f"host-local, in one of {', '.join(PLUGIN_FOLDERS)}) with its package manager."
    )


def _advice_of_name(lacking: list[str]) -> str:
    names = " ".join(lacking)
    return f"missing on this machine: {names}\nOn Debian or Ubuntu: sudo apt-get install {names}"


if __name__ == "__main__":
    sys.exit(progress.told(lambda: ensure_programs(sys.argv[1:])))
