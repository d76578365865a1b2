"""docs/reports.md, held to the code: its examples are sent, its tables are complete."""

import json
import re
from pathlib import Path

import pytest

from handlers.pods import a_scene, a_store
from trainingjobs.model.report import Data, Frame, Lines, Network, Report, Stage, Told
from trainingjobs.model.whole import Whole
from trainingjobs.schema import service

TEXT = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
REPORTS, WHOLES = (
    re.findall(rf"```json {kind}\n(.*?)```", TEXT, re.DOTALL) for kind in ("report", "whole")
)
CURL = r"--data '(.*?)'\n"


@pytest.mark.parametrize("text", REPORTS)
async def test_its_reports_are_taken(text: str) -> None:
    async with a_scene(a_store(processesPerInstance=4)) as scene:
        code, answer = await scene.report(data=text.encode())
        assert (code, answer) == (200, {"interval": 5.0})
        assert json.dumps(answer) in TEXT


async def test_what_its_shell_sends_is_taken() -> None:
    (text,) = re.findall(CURL, TEXT)
    said = text.replace("'\"$(hostname)-$$\"'", "mnist-worker-0-17").replace("'\"$RANK\"'", "0")
    async with a_scene() as scene:
        assert (await scene.report(data=said.encode()))[0] == 200


def test_its_status_is_one() -> None:
    (text,) = WHOLES
    whole = json.loads(text)
    assert (
        Whole.model_validate(whole, strict=False).model_dump(
            mode="json", by_alias=True, exclude_unset=True
        )
        == whole
    )


def test_every_field_is_explained() -> None:
    table = TEXT.partition("## What may be said")[2].partition("## The rhythm")[0]
    names = {
        str(field.alias or name)
        for model in (Report, Frame, Lines, Data, Network, Told)
        for name, field in model.model_fields.items()
    }
    assert {it for it in names if f"`{it}`" not in table} == set()
    assert {it for it in Stage if f"`{it}`" not in table} == set()


def test_every_answer_is_explained() -> None:
    told = set(service.document()["paths"]["/api/v1/reports"]["post"]["responses"]) - {"405"}
    rows = re.findall(r"^\| ([0-9, ]+) \|", TEXT, re.MULTILINE)
    assert {code.strip() for row in rows for code in row.split(",")} == told
