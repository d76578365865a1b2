"""Who installs the SDK, or has the reporter on the path, gets their types with them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["build-backend"]


def test_packages_with_an_interface_say_that_they_are_typed() -> None:
    public = [name for name in BUILT["module-name"] if not name.startswith("_")]
    assert public == ["trainingjobs", "trainingjob"]
    folder = ROOT / BUILT["module-root"]
    assert [name for name in public if not (folder / name / "py.typed").is_file()] == []


def test_the_build_leaves_no_file_of_them_out() -> None:
    """All files of a package are in the wheel, unless something here says otherwise."""
    assert BUILT.keys() == {"module-root", "module-name"}
