"""The NetworkPolicy that docs/operating.md shows chooses the pods that it means, by their labels.

That a cluster enforces it was not seen: the local one enforces none.
"""

from typing import Any

import yaml

from pages import blocks
from trainingjobs.model import labels

CHART = blocks.ROOT / "charts" / "trainingjob-operator"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
HELPERS = (CHART / "templates" / "_helpers.tpl").read_text()
POD = labels.of_pod("mnist", "uid-1", "worker", 1, 1)


def policy() -> dict[str, Any]:
    page = (blocks.ROOT / "docs" / "operating.md").read_text()
    (text,) = [it for kind, it in blocks.blocks(page) if kind == "yaml" and "NetworkPolicy" in it]
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    spec: dict[str, Any] = found["spec"]
    return spec


def chosen(selector: dict[str, Any], pod: dict[str, str]) -> bool:
    wanted: dict[str, str] = selector["matchLabels"]
    return bool(wanted) and wanted.items() <= pod.items()


def test_it_is_about_the_pods_of_jobs() -> None:
    assert chosen(policy()["podSelector"], POD)


def test_ranks_reach_each_other_at_any_port() -> None:
    (inward,) = policy()["ingress"]
    outward = policy()["egress"][0]
    for peers in (inward["from"], outward["to"]):
        assert [list(peer) for peer in peers] == [["podSelector"]], "of this namespace alone"
        assert chosen(peers[0]["podSelector"], POD)
    assert "ports" not in inward | outward


def test_ranks_reach_the_operators_door() -> None:
    ((peer,), (port,)) = (policy()["egress"][-1][key] for key in ("to", "ports"))
    ((name, value),) = peer["podSelector"]["matchLabels"].items()
    assert f"{name}: {value}\n" in HELPERS
    assert (name, value) == (labels.APP_PART_OF, labels.COMPONENT_NAME)
    assert port == {"protocol": "TCP", "port": VALUES["rollCall"]["port"]}
