"""The image that every pod's sandbox starts from, made here instead of pulled."""

import pathlib

from localcluster import archive, binaries, places


def image(folder: pathlib.Path) -> pathlib.Path:
    """Write the pause image's archive into a folder."""
    program = binaries.ensure(["pause"]) / "pause"
    target = folder / "pause.tar"
    archive.write(target, places.PAUSE, {"pause": program.read_bytes()}, ["/pause"])
    return target
