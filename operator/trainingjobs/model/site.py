# ruff: noqa: A005  imports are absolute here: the standard library's site is never meant
"""Where an operator works: what its settings and its own files tell every decision alike."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class Site:
    """What is the same for all jobs of one operator."""

    domain: str
    """The cluster's DNS domain."""
    report_url: str = ""
    """Where pods send their reports; empty where the roll call is off for all jobs."""
    reporter: Mapping[str, str] = field(default_factory=dict)
    """The reporter's files: the path under the pods' code directory, and the text."""

    launcher: Mapping[str, str] = field(default_factory=dict)
    """What starts MPI's processes: the path under the folder in the pods, and the text."""
    secret: bytes = field(default=b"", repr=False)
    """What this operator's process makes the keys of new jobs from."""

    @cached_property
    def digest(self) -> str:
        """What tells one version of the reporter from another."""
        return _digest(self.reporter)

    @cached_property
    def launcher_digest(self) -> str:
        """What tells one version of the launcher's programs from another."""
        return _digest(self.launcher)


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def flat(files: Mapping[str, str]) -> dict[str, str]:
    """Files as a ConfigMap holds them: no key has a slash."""
    return {flat_key(path): text for path, text in files.items()}


def flat_key(path: str) -> str:
    """The key of the file with this path."""
    return path.replace("/", ".")
