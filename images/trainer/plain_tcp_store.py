# ruff: noqa: INP001  (a file of an image, not of a package)
"""Lets torch's TCPStore work in a torch that was built without libuv.

Debian builds torch without libuv, yet `TCPStore` asks for libuv unless told otherwise, and
torchrun's own stores (static and c10d rendezvous) cannot be told: not even by USE_LIBUV=0. So
every start would end with "use_libuv was requested but PyTorch was build without libuv support".

Run at image build, this file copies itself beside `torch.distributed` and adds one import line
to it, so that `TCPStore` always takes the plain TCP backend. Nothing runs when Python starts,
nothing runs in programs that do not use torch.distributed, and no sitecustomize is taken.
In an image whose torch has libuv (the wheels from PyPI) it changes nothing.
"""

import functools
import py_compile
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed
from torch.distributed import TCPStore

ARGUMENTS_BEFORE_USE_LIBUV = 8  # host, port, world size, master, timeout, wait, tenants, socket
IMPORT_LINE = f"\nfrom torch.distributed import {Path(__file__).stem}  # by the trainer image\n"


def take_plain_backend() -> None:
    """Make every TCPStore of this process use the backend that this torch has."""
    original = TCPStore.__init__

    @functools.wraps(original)
    def plain(self: TCPStore, *args: Any, **kwargs: Any) -> None:
        kwargs["use_libuv"] = False
        original(self, *args[:ARGUMENTS_BEFORE_USE_LIBUV], **kwargs)

    TCPStore.__init__ = plain


def has_libuv() -> bool:
    """Whether this torch serves the store it asks for by default."""
    try:
        TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=5))
    except RuntimeError as error:
        if "libuv" not in str(error):
            raise
        return False
    return True


def install() -> None:
    """Copy this file beside torch.distributed, and have that import it."""
    package = Path(torch.distributed.__file__)
    shutil.copy(__file__, package.with_name(Path(__file__).name))
    with package.open("a") as file:
        file.write(IMPORT_LINE)
    py_compile.compile(str(package), doraise=True)
    py_compile.compile(str(package.with_name(Path(__file__).name)), doraise=True)


if __name__ != "__main__":
    take_plain_backend()
elif not has_libuv():
    install()
