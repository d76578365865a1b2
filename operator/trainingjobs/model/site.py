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

    @cached_property
    def digest(self) -> str:
        """What tells one version of the reporter from another."""
        text = json.dumps(sorted(self.reporter.items()))
        return hashlib.sha256(text.encode()).hexdigest()
