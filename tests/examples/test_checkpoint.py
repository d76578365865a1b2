"""Example 10's checkpoints: whatever is cut off, the last whole one is found."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parents[2] / "examples/10-checkpoint/checkpoint.py"
LESSON: dict[str, Any] = runpy.run_path(str(HERE))
write: Callable[..., None] = LESSON["write"]
read: Callable[[Path], tuple[int, bytes] | None] = LESSON["read"]


def test_where_nothing_was_kept_nothing_is_found(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None
    assert read(tmp_path) is None


def test_the_last_one_is_found_and_two_are_kept(tmp_path: Path) -> None:
    for step in (5, 10, 15):
        write(tmp_path, step, b"after %d" % step)
    assert read(tmp_path) == (15, b"after 15")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "latest",
        "step-00000010.ckpt",
        "step-00000015.ckpt",
    ]


@settings(deadline=None)  # a disk takes the time that it takes
@given(content=st.binary(max_size=200), cut=st.integers(min_value=0, max_value=10_000))
def test_a_torn_one_is_passed_over(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    write(folder, 5, b"whole")
    write(folder, 10, content)
    newest = folder / "step-00000010.ckpt"
    written = newest.read_bytes()
    newest.write_bytes(written[: cut % len(written)])
    assert read(folder) == (5, b"whole")


def test_one_that_is_written_wrongly_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, 5, b"whole")
    write(tmp_path, 10, b"changed")
    newest = tmp_path / "step-00000010.ckpt"
    newest.write_bytes(newest.read_bytes().replace(b"changed", b"charged"))
    assert read(tmp_path) == (5, b"whole")


@pytest.mark.parametrize("pointer", [None, b"", b"step-", b"step-00000099.ckpt"])
def test_a_pointer_that_is_lost_or_torn_does_no_harm(tmp_path: Path, pointer: bytes | None) -> None:
    write(tmp_path, 5, b"old")
    write(tmp_path, 10, b"new")
    if pointer is None:
        (tmp_path / "latest").unlink()
    else:
        (tmp_path / "latest").write_bytes(pointer)
    assert read(tmp_path) == (10, b"new")


def test_a_kill_before_the_rename_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 5, b"whole")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, 10, b"half")
    assert read(tmp_path) == (5, b"whole")
    write(tmp_path, 10, b"again")
    assert read(tmp_path) == (10, b"again")
    assert not list(tmp_path.glob("*.partial"))


def test_what_is_renamed_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    replace = Path.replace
    monkeypatch.setattr("os.fsync", lambda _: told.append("fsync"))
    monkeypatch.setattr(
        Path, "replace", lambda self, to: (told.append("rename"), replace(self, to))
    )
    write(tmp_path, 5, b"whole")
    assert told == ["fsync", "rename", "fsync"] * 2
