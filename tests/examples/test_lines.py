"""Several ranks of a pod share one output; a line that is written in two parts can be torn there.

`print` writes its text and the end of the line apart when nothing is buffered, as in a pod
(`PYTHONUNBUFFERED=1`), and another rank's line comes in between.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/*.py"))
WRITES = """
import io, sys
class Output(io.RawIOBase):
    def writable(self): return True
    def write(self, part): sys.stderr.write(f"{bytes(part)!r};"); return len(part)
sys.stdout = io.TextIOWrapper(Output(), write_through=True)
"""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_example_prints_a_line_in_two_parts(program: Path) -> None:
    torn = [
        node.lineno
        for node in ast.walk(ast.parse(program.read_text()))
        if isinstance(node, ast.Name) and node.id == "print"
    ]
    assert not torn, f"{program}: lines {torn} should be sys.stdout.write(... + newline)"


@pytest.mark.parametrize(("call", "parts"), [("print('a')", 2), ("sys.stdout.write('a\\n')", 1)])
def test_this_is_why(call: str, parts: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITES + call],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count(";") == parts
