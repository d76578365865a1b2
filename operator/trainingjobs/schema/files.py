"""The files that are made from the models, written together so that they never differ.

Users apply the definition; the chart's template has it too, because Helm would install a file
of its `crds/` folder once and never upgrade it. The service's description is for clients.
"""

from pathlib import Path

import yaml

from trainingjobs.schema import service
from trainingjobs.schema.definition import NAME, definition

PLAIN = Path("crds/trainingjob.yaml")
CHART = Path("charts/trainingjob-operator/templates/crd.yaml")
SERVICE = Path("docs/openapi.json")

_HEADER = "# Made by `make generate` from operator/trainingjobs/model: change it there.\n"
_NAMED = f"  name: {NAME}\n"
_KEPT = """\
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""


def plain() -> str:
    """The definition as YAML, for `kubectl apply`."""
    text = yaml.safe_dump(definition(), sort_keys=False, width=100, allow_unicode=True)
    return f"{_HEADER}---\n{text}"


def templated() -> str:
    """The definition as the chart's template: installed, and kept, as the values say."""
    body = plain().replace("{{", '{{ "{{" }}').replace(_NAMED, _NAMED + _KEPT, 1)
    return f"{{{{- if .Values.crds.install }}}}\n{body}{{{{- end }}}}\n"


def contents() -> dict[Path, str]:
    """What each file should hold."""
    return {PLAIN: plain(), CHART: templated(), SERVICE: service.text()}


def write_all(root: Path) -> None:
    """Write all files under the repository's root."""
    for path, text in contents().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def check(root: Path) -> tuple[Path, ...]:
    """The files that differ from what the models say."""
    return tuple(path for path, text in contents().items() if _text(root / path) != text)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
