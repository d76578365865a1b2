"""The operator's own part of a site: the reporter's files, as they lie beside the operator's code.

They are read, never imported: what they do at an import is meant for the pods.
"""

from importlib.util import find_spec
from pathlib import Path

from trainingjobs.model.site import Site
from trainingjobs.settings import Settings

PACKAGE = "trainingjob"
_START = "_sitecustomize.py"
"""Runs when an interpreter starts; under its real name it would do so in this checkout as well."""


def site(settings: Settings) -> Site:
    """Where an operator with these settings works."""
    return Site(domain=settings.cluster_domain, report_url=settings.report_url, reporter=reporter())


def reporter() -> dict[str, str]:
    """The reporter's files by their path in the pods."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return {}
    files = sorted(Path(spec.origin).parent.glob("*.py"))
    return {_path(file.name): file.read_text(encoding="utf-8") for file in files}


def _path(name: str) -> str:
    return "sitecustomize.py" if name == _START else f"{PACKAGE}/{name}"
