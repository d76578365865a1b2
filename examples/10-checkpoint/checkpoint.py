"""Checkpoints that a kill at any moment leaves whole: Python's standard library, nothing more.

A file gets its name when it is whole and on the disk, and the pointer `latest` follows it. Each
file begins with the digest of what comes after it, so one that is torn all the same (a full
disk, a lost node) is known for what it is, and the one before it serves.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

KEPT = 2
"""The newest, and the one before it to fall back to."""
LATEST = "latest"
_DIGEST = hashlib.sha256().digest_size


def write(folder: Path, step: int, content: bytes, *, seconds: float = 0) -> None:
    """Keep what was reached after a step; `seconds` makes it slow, to be killed in the middle."""
    folder.mkdir(parents=True, exist_ok=True)
    target = _path(folder, step)
    _replace(target, hashlib.sha256(content).digest() + content, seconds)
    _replace(folder / LATEST, target.name.encode())
    for old in _all(folder)[:-KEPT]:
        old.unlink()


def read(folder: Path) -> tuple[int, bytes] | None:
    """The last step that was kept whole, and what was reached after it."""
    for path in _candidates(folder):
        content = _whole(path)
        if content is not None:
            return int(path.stem.removeprefix("step-")), content
    return None


def _candidates(folder: Path) -> Iterator[Path]:
    """What `latest` names, then all others, the newest first."""
    with contextlib.suppress(OSError):
        yield folder / (folder / LATEST).read_text()
    yield from reversed(_all(folder))


def _whole(path: Path) -> bytes | None:
    """The content of a checkpoint; None of one that is torn or not there."""
    try:
        written = path.read_bytes()
    except OSError:
        return None
    digest, content = written[:_DIGEST], written[_DIGEST:]
    return content if hashlib.sha256(content).digest() == digest else None


def _replace(target: Path, content: bytes, seconds: float = 0) -> None:
    """Write aside, bring it to the disk, then give it its name in one step."""
    partial = target.with_suffix(".partial")
    half = len(content) // 2
    with partial.open("wb") as file:
        file.write(content[:half])
        file.flush()
        time.sleep(seconds)
        file.write(content[half:])
        file.flush()
        os.fsync(file.fileno())
    partial.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)  # the new name has to reach the disk as well
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08}.ckpt"


def _all(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.ckpt"))
