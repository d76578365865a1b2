"""The table of `make examples`: what it says of an example, and how it looks."""

import pytest

from e2e import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("example", "time"), ("01-ddp", "7 s"), ("03-torchrun", "41 s")]
    assert table.columns(rows) == ["example      time", "01-ddp       7 s", "03-torchrun  41 s"]


def test_a_row_tells_the_size_and_the_result() -> None:
    row = table.Row("02-spawn", 41.4, "loss 0.07", passed=True)
    assert row.cells() == ("02-spawn", "2 x 2", "41 s", "loss 0.07", "pass")
    assert table.Row("17-nccl", 1.0, "", passed=False).cells()[1::3] == ("2 x auto", "FAIL")


def test_images_are_those_that_the_jobs_name() -> None:
    assert table.images(["01-ddp", "05-fsdp"]) == ["trainer"]
    assert table.images([]) == []


def test_an_example_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert table.main(["01-ddp", "99-none"]) == 2
    assert capsys.readouterr().out.startswith("no such example: 99-none; there are 01-ddp, ")
