"""What the roll call puts into a pod, and the pods that get nothing of it."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, REPORTING, SITE, TEMPLATE, UID, a_job, a_pod, pending, seen
from trainingjobs.model.site import Site
from trainingjobs.model.spec import Manifest
from trainingjobs.plan import manifests
from trainingjobs.plan.decide import decide

CODE = "/run/trainingjob/code"
NEWER = replace(REPORTING, reporter={**REPORTING.reporter, "sitecustomize.py": "# newer\n"})
OTHER_PORT = replace(REPORTING, report_url="http://elsewhere/")


def template(container: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    main = {"name": "trainer", "image": "m", **(container or {})}
    return {"spec": {"containers": [main], **pod}}


def spec_of(wanted: dict[str, Any], site: Site = REPORTING, **spec: Any) -> Manifest:
    found: Manifest = manifests.pod(a_job(template=wanted, **spec), 1, site)["spec"]
    return found


def listed(container: Manifest) -> dict[str, Any]:
    """The variables, each of which stands there once."""
    names = [item["name"] for item in container["env"]]
    assert len(names) == len(set(names))
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in container["env"]}


def env(*variables: dict[str, Any], **container: Any) -> dict[str, Any]:
    spec = spec_of(template({"env": list(variables), **container}))
    return listed(spec["containers"][0])


def mounted(spec: Manifest) -> list[str]:
    return [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]


def test_the_trainer_gets_the_files_a_token_and_where_to_report() -> None:
    name = manifests.reporter(a_job(), REPORTING)["metadata"]["name"]
    spec = spec_of(TEMPLATE)
    assert spec["volumes"][-1] == {
        "name": "trainingjob-rollcall",
        "projected": {
            "sources": [
                {
                    "configMap": {
                        "name": name,
                        "optional": True,
                        "items": [
                            {
                                "key": "public.trainingjob.__init__.py",
                                "path": "public/trainingjob/__init__.py",
                            },
                            {"key": "sitecustomize.py", "path": "code/sitecustomize.py"},
                        ],
                    }
                },
                {
                    "serviceAccountToken": {
                        "audience": "trainingjob.dev/reports",
                        "expirationSeconds": 3600,
                        "path": "token",
                    }
                },
            ]
        },
    }
    main = spec["containers"][0]
    assert main["volumeMounts"][-1] == {
        "name": "trainingjob-rollcall",
        "mountPath": "/run/trainingjob",
        "readOnly": True,
    }
    told = listed(main)
    assert told["TRAININGJOB_REPORT_URL"] == REPORTING.report_url
    assert told["PYTHONPATH"] == CODE


def test_the_config_map_holds_what_the_pods_mount() -> None:
    found = manifests.reporter(a_job(), REPORTING)
    assert found["immutable"] is True
    assert found["metadata"]["ownerReferences"][0]["uid"] == UID
    assert found["data"] == {
        "sitecustomize.py": REPORTING.reporter["sitecustomize.py"],
        "public.trainingjob.__init__.py": REPORTING.reporter["public/trainingjob/__init__.py"],
    }


def test_its_name_tells_versions_and_jobs_of_one_name_apart() -> None:
    job = a_job()
    jobs = [(job, REPORTING), (job, NEWER), (replace(job, uid="another"), REPORTING)]
    names = {manifests.reporter(it, site)["metadata"]["name"] for it, site in jobs}
    assert len(names) == len(jobs)
    assert all(name.startswith("mnist-rollcall-") for name in names)
    same = manifests.reporter(job, OTHER_PORT)["metadata"]["name"]
    assert same == manifests.reporter(job, REPORTING)["metadata"]["name"]


@pytest.mark.parametrize("framework", ["PyTorch", "TensorFlow", "JAX"])
@pytest.mark.parametrize("rank", [0, 1])
def test_without_the_roll_call_pods_have_nothing_of_ours(framework: str, rank: int) -> None:
    off = manifests.pod(a_job(framework=framework, rollCall="Disabled"), rank, REPORTING)
    assert off == manifests.pod(a_job(framework=framework), rank, SITE)
    assert not [word for word in ("rollcall", "PYTHONPATH", "REPORT") if word in str(off)]


@pytest.mark.parametrize("framework", ["PyTorch", "TensorFlow", "JAX"])
def test_every_framework_reports(framework: str) -> None:
    spec = spec_of(TEMPLATE, framework=framework)
    assert "TRAININGJOB_REPORT_URL" in listed(spec["containers"][0])


def test_helpers_do_not_report() -> None:
    wanted = template(initContainers=[{"name": "fetch", "image": "m"}])
    wanted["spec"]["containers"].insert(0, {"name": "sidecar", "image": "m"})
    spec = spec_of(wanted)
    for helper in (*spec["initContainers"], spec["containers"][0]):
        assert {"TRAININGJOB_REPORT_URL", "PYTHONPATH"}.isdisjoint(listed(helper))
        assert "volumeMounts" not in helper
    assert spec["containers"][1]["volumeMounts"][-1]["mountPath"] == "/run/trainingjob"


@pytest.mark.parametrize(
    ("own", "path"),
    [
        ({"value": "/mine:/yours"}, f"{CODE}:/mine:/yours"),
        ({"value": "$(BASE)/lib"}, f"{CODE}:$(BASE)/lib"),
        ({"value": ""}, CODE),
        ({}, CODE),
    ],
)
def test_a_users_path_comes_behind_ours(own: dict[str, str], path: str) -> None:
    """An empty part of a path is the working directory: none appears."""
    base = {"name": "BASE", "value": "/b"}
    told = env(base, {"name": "PYTHONPATH", **own}, {"name": "LAST", "value": "$(PYTHONPATH)"})
    assert told["PYTHONPATH"] == path
    names = list(told)
    assert names.index("BASE") < names.index("PYTHONPATH") < names.index("LAST")


def test_a_users_path_from_elsewhere_comes_behind_ours() -> None:
    source = {"configMapKeyRef": {"name": "mine", "key": "path"}}
    told = env({"name": "PYTHONPATH", "valueFrom": source})
    assert told["TRAININGJOB_USER_PYTHONPATH"] == source
    assert told["PYTHONPATH"] == f"{CODE}:$(TRAININGJOB_USER_PYTHONPATH)"
    names = list(told)
    assert names.index("TRAININGJOB_USER_PYTHONPATH") < names.index("PYTHONPATH")


@pytest.mark.parametrize(
    "path", ["/run/trainingjob", "/run/trainingjob/", "/run/trainingjob/code", "/run", "/"]
)
def test_a_mount_of_the_users_in_our_place_leaves_the_roll_call_off(path: str) -> None:
    mine = {"volumeMounts": [{"name": "mine", "mountPath": path}]}
    wanted = template(mine, volumes=[{"name": "mine", "emptyDir": {}}])
    assert spec_of(wanted) == spec_of(wanted, SITE)


FROM = [{"configMapRef": {"name": "mine"}}]


def test_a_path_that_may_come_from_elsewhere_is_not_hidden() -> None:
    wanted = template({"envFrom": FROM})
    assert spec_of(wanted) == spec_of(wanted, SITE)
    told = env({"name": "PYTHONPATH", "value": "/mine"}, envFrom=FROM)
    assert told["PYTHONPATH"] == f"{CODE}:/mine"


@pytest.mark.parametrize("path", ["/run/trainingjobs", "/runs", "/data", "/var/run/trainingjob"])
def test_a_mount_beside_ours_does_not(path: str) -> None:
    mine = {"volumeMounts": [{"name": "mine", "mountPath": path}]}
    wanted = template(mine, volumes=[{"name": "mine", "emptyDir": {}}])
    assert {path, "/run/trainingjob"} < set(mounted(spec_of(wanted)))


@pytest.mark.parametrize(
    "pod",
    [
        {"volumes": [{"name": "trainingjob-rollcall", "emptyDir": {}}]},
        {"volumes": {"name": "d"}},
        {"volumes": ["d"]},
    ],
)
def test_a_volume_in_our_place_or_of_no_form_leaves_it_off(pod: dict[str, Any]) -> None:
    assert spec_of(template(**pod)) == spec_of(template(**pod), SITE)


def test_the_template_is_never_touched() -> None:
    wanted = template(
        {
            "env": [{"name": "PYTHONPATH", "value": "/mine"}],
            "volumeMounts": [{"name": "mine", "mountPath": "/data"}],
        },
        volumes=[{"name": "mine", "emptyDir": {}}],
    )
    before = copy.deepcopy(wanted)
    spec_of(wanted)
    assert wanted == before


def test_the_files_are_offered_with_the_pods_and_never_without() -> None:
    job = a_job()
    new = decide(job, seen(service=None), NOW, REPORTING)
    assert new.offer == (manifests.reporter(job, REPORTING),)
    assert [item["kind"] for item in new.create] == ["Service", "Pod", "Pod", "Pod"]
    whole = seen(a_pod(0), pending(1), pending(2))
    assert not decide(job, whole, NOW, REPORTING).acts
    assert decide(job, replace(whole, service=None), NOW, REPORTING).offer == ()


def test_pods_of_a_newer_operator_get_its_files_beside_older_siblings() -> None:
    job, part = a_job(), seen(a_pod(0), a_pod(1))
    decision = decide(job, part, NOW, NEWER)
    (pod,) = decision.create
    (source, _) = pod["spec"]["volumes"][-1]["projected"]["sources"]
    assert source["configMap"]["name"] == decision.offer[0]["metadata"]["name"]


@pytest.mark.parametrize("site", [SITE, REPORTING, NEWER, OTHER_PORT])
def test_no_version_of_the_operator_restarts_a_job(site: Site) -> None:
    """What an attempt was planned from is the spec alone."""
    job = a_job()
    first = decide(job, seen(service=None), NOW, REPORTING)
    running = replace(job, status=first.status)
    later = decide(running, seen(*(a_pod(rank) for rank in range(3))), NOW, site)
    assert (later.status.attempt, later.acts) == (1, False)


def test_a_job_without_the_roll_call_is_offered_nothing() -> None:
    assert decide(a_job(rollCall="Disabled"), seen(service=None), NOW, REPORTING).offer == ()
    assert decide(a_job(), seen(service=None), NOW, SITE).offer == ()
