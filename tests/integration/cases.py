"""A namespace with an operator in it, for the cases that only a real API server can prove."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.operators import operator
from integration.server import ApiServer
from integration.test_operator import Lab

_numbers = itertools.count()


@contextmanager
def stage(server: ApiServer, folder: Path) -> Iterator[Lab]:
    """The laboratory; in the end the operator was refused nothing and met nothing unforeseen."""
    with operator(server, f"case-{next(_numbers)}", folder) as served:
        lab = Lab(server, served)
        yield lab
        assert not served.refused()
        assert "Traceback" not in served.log()


def where(lab: Lab) -> tuple[str, str, str, str]:
    """Where its jobs are, as the client wants to be told."""
    return "trainingjob.dev", "v1", lab.namespace, "trainingjobs"


def do(lab: Lab, *args: str, text: str | None = None) -> str:
    """What kubectl says in its namespace."""
    done = lab.server.kubectl("-n", lab.namespace, *args, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout
