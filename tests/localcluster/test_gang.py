"""Kubernetes' own gang scheduling: off, unless asked for."""

import json
import pathlib
from typing import Any

import pytest
import yaml

from localcluster import api, gang, kind


@pytest.mark.parametrize(
    ("env", "wanted"),
    [({}, False), ({"GANG": ""}, False), ({"GANG": "0"}, False), ({"GANG": "1"}, True)],
)
def test_who_asks_for_it_gets_it(env: dict[str, str], wanted: bool) -> None:
    assert gang.asked(env) is wanted


def test_it_is_off_by_default() -> None:
    assert gang.server(wanted=False) == gang.gates(wanted=False) == []
    assert not {"featureGates", "runtimeConfig"} & set(yaml.safe_load(kind.config(1)))


def test_the_gate_is_on_everywhere_and_the_api_at_the_server() -> None:
    assert gang.gates(wanted=True) == ["--feature-gates=GenericWorkload=true"]
    assert gang.server(wanted=True) == [
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1beta1=true",
    ]
    told = yaml.safe_load(kind.config(1, gangs=True))
    assert told["featureGates"] == {"GenericWorkload": True}
    assert told["runtimeConfig"] == {"scheduling.k8s.io/v1beta1": "true"}


def test_a_running_cluster_is_asked_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Any] = {"/apis/a/v1": {"resources": [{"name": "things"}]}}

    def ask(_: api.Api, path: str) -> Any:
        if path not in answers:
            raise OSError(path)
        return json.loads(json.dumps(answers[path]))

    monkeypatch.setattr(api.Api, "_ask", ask)
    here = api.Api(pathlib.Path("/nowhere"))
    assert here.serves("a/v1", "things")
    assert not here.serves("a/v1", "others")
    assert not here.serves("b/v1", "things")
