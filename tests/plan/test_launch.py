"""Jobs whose master starts all ranks: what their pods get, what they need, and how they end."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from builders import NOW, REPORTING, SITE, UID, a_job, a_pod, at, ended, heard, pending, seen
from plan.test_decide import created, decided
from trainingjobs.model.observed import Past, PodSeen
from trainingjobs.model.report import Error
from trainingjobs.model.roll import Roll
from trainingjobs.model.spec import Manifest
from trainingjobs.model.status import Attempt, Phase, Status
from trainingjobs.plan import manifests
from trainingjobs.plan.decide import decide

LAUNCHED = ("MPI", "Horovod")
COMMAND = ["mpirun", "python", "train.py"]
FOLDER = "/run/trainingjob-launch"
PROGRAMS = replace(
    SITE, launcher={"door": "# a\n", "_trainingjob_launch/main.py": "# b\n"}, secret=b"random"
)
WORDS = "launch: could not reach 1 of 2 workers: mnist-worker-1 (no answer); a NetworkPolicy has to"


def template(pod: dict[str, Any] | None = None, **container: Any) -> dict[str, Any]:
    main = {"name": "trainer", "image": "m", "command": COMMAND, "args": ["--epochs", "2"]}
    return {"spec": {"containers": [{**main, **container}], **(pod or {})}}


def spec_of(rank: int, wanted: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    job = a_job(framework="MPI", template=wanted or template(), **spec)
    found: Manifest = manifests.pod(job, rank, PROGRAMS)["spec"]
    return found


def test_the_masters_command_runs_as_it_stands_once_the_workers_are_there() -> None:
    main = spec_of(0)["containers"][0]
    assert main["command"] == ["python3", "-I", "-S", f"{FOLDER}/launch", "--", *COMMAND]
    assert main["args"] == ["--epochs", "2"]


@pytest.mark.parametrize("rank", [1, 2])
def test_a_workers_command_is_the_door(rank: int) -> None:
    main = spec_of(rank)["containers"][0]
    assert main["command"] == ["python3", "-I", "-S", f"{FOLDER}/door"]
    assert "args" not in main


def test_what_looks_for_the_command_does_not_look_for_a_door() -> None:
    probes = {key: {"exec": {}} for key in ("livenessProbe", "readinessProbe", "startupProbe")}
    lifecycle = {"postStart": {"exec": {}}, "preStop": {"exec": {}}}
    wanted = template(**probes, lifecycle=lifecycle)
    master, worker = (spec_of(rank, wanted)["containers"][0] for rank in (0, 1))
    assert probes.items() <= master.items()
    assert master["lifecycle"] == lifecycle
    assert not probes.keys() & worker.keys()
    assert worker["lifecycle"] == {"preStop": {"exec": {}}}


@pytest.mark.parametrize(("framework", "gone"), [("MPI", ["mnist-worker-1"]), ("PyTorch", [])])
def test_no_door_outlives_its_job(framework: str, gone: list[str]) -> None:
    """It would wait for a launcher for ever; what has ended is kept."""
    there = seen(ended(0, 3), ended(1, 0), a_pod(2))
    spec = {"framework": framework, "cleanPodPolicy": "None", "maxRestarts": 0}
    decision = decided(there, status=created(), **spec)
    assert decision.status.phase is Phase.FAILED
    assert [ref.name for ref in decision.delete] == gone


def test_the_programs_and_the_key_are_in_the_training_container_alone() -> None:
    wanted = template({"initContainers": [{"name": "fetch", "image": "m"}]})
    wanted["spec"]["containers"].insert(0, {"name": "sidecar", "image": "m", "command": ["x"]})
    job = a_job(framework="MPI", template=wanted)
    programs, secret = manifests.launching(job, PROGRAMS)
    spec = spec_of(1, wanted)
    assert spec["volumes"][-1] == {
        "name": "trainingjob-launch",
        "projected": {
            "sources": [
                {
                    "configMap": {
                        "name": programs["metadata"]["name"],
                        "items": [
                            {
                                "key": "_trainingjob_launch.main.py",
                                "path": "_trainingjob_launch/main.py",
                                "mode": 0o555,
                            },
                            {"key": "door", "path": "door", "mode": 0o555},
                        ],
                    }
                },
                {
                    "secret": {
                        "name": secret["metadata"]["name"],
                        "items": [{"key": "key", "path": "key", "mode": 0o444}],
                    }
                },
            ]
        },
    }
    sidecar, main = spec["containers"]
    mount = {"name": "trainingjob-launch", "mountPath": FOLDER, "readOnly": True}
    assert main["volumeMounts"][-1] == mount
    assert sidecar["command"] == ["x"]
    assert "volumeMounts" not in sidecar
    assert "volumeMounts" not in spec["initContainers"][0]


def test_short_names_of_the_group_resolve() -> None:
    domain = "mnist.lab.svc.cluster.local"
    assert spec_of(0)["dnsConfig"] == {"searches": [domain]}
    own = {"searches": ["mine"], "nameservers": ["10.0.0.1"]}
    found = spec_of(0, template({"dnsConfig": own}))["dnsConfig"]
    assert found == {**own, "searches": ["mine", domain]}


def test_the_roll_call_is_beside_it() -> None:
    site = replace(REPORTING, launcher=PROGRAMS.launcher)
    spec = manifests.pod(a_job(framework="MPI"), 1, site)["spec"]
    assert {"trainingjob-launch", "trainingjob-rollcall"} < {it["name"] for it in spec["volumes"]}
    off = manifests.pod(a_job(framework="MPI", rollCall="Disabled"), 1, site)["spec"]
    names = {it["name"] for it in off["volumes"]}
    assert ("trainingjob-launch" in names, "trainingjob-rollcall" in names) == (True, False)


@pytest.mark.parametrize("framework", ["PyTorch", "TensorFlow", "JAX", "None"])
def test_other_frameworks_get_nothing_of_it(framework: str) -> None:
    job = a_job(framework=framework)
    assert manifests.launching(job, PROGRAMS) == ()
    assert "launch" not in str(manifests.pod(job, 0, PROGRAMS))


@pytest.mark.parametrize("framework", LAUNCHED)
@pytest.mark.parametrize("size", [1, 3])
def test_programs_and_key_are_made_before_the_pods(framework: str, size: int) -> None:
    job = a_job(size, framework=framework)
    decision = decide(job, seen(service=None), NOW, PROGRAMS)
    kinds = [item["kind"] for item in decision.create]
    assert kinds == ["Service", "ConfigMap", "Secret", *["Pod"] * size]
    assert decision.offer == ()
    for item in decision.create[1:3]:
        assert item["immutable"] is True
        assert item["metadata"]["ownerReferences"][0]["uid"] == UID


def test_with_no_pod_to_make_neither_is_made() -> None:
    whole = seen(a_pod(0), pending(1), pending(2), service=None)
    decision = decide(a_job(framework="MPI"), whole, NOW, PROGRAMS)
    assert [item["kind"] for item in decision.create] == ["Service"]


def secret(**changes: Any) -> Manifest:
    job = replace(a_job(framework="MPI"), uid=changes.pop("uid", UID))
    return manifests.launching(job, replace(PROGRAMS, **changes))[1]


def test_the_key_is_the_jobs_own_and_the_processs() -> None:
    """Asked again it is the same, so that deciding again changes nothing."""
    assert secret() == secret()
    assert secret()["data"] != secret(uid="another")["data"]
    assert secret()["data"] != secret(secret=b"another")["data"]
    assert len(base64.b64decode(secret()["data"]["key"])) == 64


def test_its_name_is_known_to_nobody_before_the_job_has_its_uid() -> None:
    name = secret()["metadata"]["name"]
    assert name == secret(secret=b"another")["metadata"]["name"]
    assert name != secret(uid="another")["metadata"]["name"]
    assert name.startswith("mnist-launch-key-")


def test_what_the_operator_makes_keys_from_is_never_told() -> None:
    assert "random" not in repr(PROGRAMS)


def test_a_newer_operator_brings_its_own_programs() -> None:
    job = a_job(framework="MPI")
    newer = replace(PROGRAMS, launcher={**PROGRAMS.launcher, "door": "# newer\n"})
    old, new = (manifests.launching(job, site)[0]["metadata"]["name"] for site in (PROGRAMS, newer))
    assert old != new
    spec = manifests.pod(job, 1, newer)["spec"]
    assert spec["volumes"][-1]["projected"]["sources"][0]["configMap"]["name"] == new


@pytest.mark.parametrize("framework", LAUNCHED)
@pytest.mark.parametrize("command", [None, []])
def test_a_template_without_a_command_fails_with_a_sentence(
    framework: str, command: list[str] | None
) -> None:
    decision = decided(seen(service=None), framework=framework, template=template(command=command))
    assert decision.status.phase is Phase.FAILED
    assert decision.status.message.startswith(f"framework {framework} needs the training")
    assert not decision.acts
    (failed,) = [item for item in decision.status.conditions if item.type == "Failed"]
    assert failed.reason == "InvalidTemplate"


def test_the_masters_command_alone_is_needed() -> None:
    spec = {"template": template(command=None), "masterTemplate": template()}
    decision = decided(seen(service=None), framework="MPI", **spec)
    assert decision.create
    turned = {"template": template(), "masterTemplate": template(command=None)}
    assert decided(seen(service=None), framework="MPI", **turned).status.phase is Phase.FAILED


@pytest.mark.parametrize("path", [FOLDER, f"{FOLDER}/", f"{FOLDER}/ssh"])
def test_a_template_with_something_in_our_place_fails_with_a_sentence(path: str) -> None:
    mine = template(volumeMounts=[{"name": "mine", "mountPath": path}])
    decision = decided(seen(service=None), framework="MPI", template=mine)
    assert decision.status.phase is Phase.FAILED
    assert FOLDER in decision.status.message
    taken = template({"volumes": [{"name": "trainingjob-launch", "emptyDir": {}}]})
    assert decided(seen(service=None), framework="MPI", template=taken).status.phase is Phase.FAILED
    fine = template(volumeMounts=[{"name": "mine", "mountPath": "/run"}])
    assert decided(seen(service=None), framework="MPI", template=fine).create


@pytest.mark.parametrize(
    "wrong",
    [
        template({"volumes": {"a": "b"}}),
        template(volumeMounts=["x"]),
        template({"dnsConfig": "x"}),
        template({"dnsConfig": {"searches": "x"}}),
        template(command="mpirun"),
    ],
)
def test_what_has_no_form_is_left_for_the_api_server_to_refuse(wrong: dict[str, Any]) -> None:
    spec = wrong["spec"]
    found = spec_of(0, wrong)
    own, made = spec["containers"][0], found["containers"][0]
    kept = [
        found.get("volumes") == spec.get("volumes", found.get("volumes")),
        made.get("volumeMounts") == own.get("volumeMounts", made.get("volumeMounts")),
        found.get("dnsConfig") == spec.get("dnsConfig", found.get("dnsConfig")),
        own["command"] == "mpirun" == made["command"] or own["command"] == COMMAND,
    ]
    assert all(kept)


@pytest.mark.parametrize("framework", LAUNCHED)
@pytest.mark.parametrize("policy", ["AllInstances", "Master"])
def test_the_masters_success_is_the_groups(framework: str, policy: str) -> None:
    there = seen(ended(0, 0), a_pod(1), a_pod(2))
    decision = decided(there, status=created(), framework=framework, successPolicy=policy)
    assert (decision.status.phase, decision.status.ready) == (Phase.SUCCEEDED, "3/3")
    assert [ref.name for ref in decision.delete] == ["mnist-worker-0", "mnist-worker-1"]


def test_a_worker_that_left_before_the_master_ended_is_no_failure() -> None:
    decision = decided(seen(a_pod(0), ended(1, 0), ended(2, 0)), status=created(), framework="MPI")
    assert (decision.status.phase, decision.acts) == (Phase.RUNNING, False)


def test_unreachable_workers_cost_nothing() -> None:
    there = seen(ended(0, 75, message=f"some\n{WORDS}", reason="Error"), a_pod(1), a_pod(2))
    status = decided(there, status=created(), framework="MPI", maxRestarts=0).status
    assert (status.phase, status.restarts, status.disruptions) == (Phase.RESTARTING, 0, 0)
    assert status.attempts[-1].reason == "WorkersUnreachable"
    assert "mnist-worker-1 (no answer)" in status.message


@pytest.mark.parametrize(
    ("rank", "code", "message", "spec"),
    [
        pytest.param(0, 75, "sorry", {}, id="a program's own"),
        pytest.param(0, 1, WORDS, {}, id="another code"),
        pytest.param(1, 75, WORDS, {}, id="a worker"),
        pytest.param(0, 75, "launch: could not reach the database", {}, id="other words"),
        pytest.param(0, 75, f"{WORDS}\nmore", {}, id="not the last words"),
        pytest.param(0, 75, WORDS, {"framework": "PyTorch"}, id="nobody launches"),
    ],
)
def test_what_only_looks_like_it_is_charged(
    rank: int, code: int, message: str, spec: dict[str, Any]
) -> None:
    pods = [ended(it, code, message=message) if it == rank else a_pod(it) for it in range(3)]
    status = decided(seen(*pods), status=created(), **{"framework": "MPI", **spec}).status
    assert status.restarts == 1


@pytest.mark.parametrize(("action", "restarts"), [("Fail", 0), ("Ignore", 0), ("Restart", 1)])
def test_a_rule_of_the_users_for_that_code_decides(action: str, restarts: int) -> None:
    rules = [{"exitCodes": [75], "action": action}]
    there = seen(ended(0, 75, message=WORDS), a_pod(1), a_pod(2))
    status = decided(there, status=created(), framework="MPI", failureRules=rules).status
    assert status.restarts == restarts
    assert (status.phase is Phase.FAILED) == (action == "Fail")


@pytest.mark.parametrize(
    "worker",
    [
        a_pod(2, deletion_requested=at(-90)),
        a_pod(2, deletion_requested=at(-90), disruption="EvictionByEvictionAPI"),
        replace(ended(2, 143, after=-2), deletion_requested=at(-90)),
        replace(ended(2, 143, after=-2), disruption="TerminationByKubelet"),
    ],
    ids=["deleted", "evicted", "deleted and ended", "its node goes"],
)
def test_ranks_that_were_told_to_stop_have_not_succeeded(worker: PodSeen) -> None:
    """They save their work and end with 0, and so does the launcher."""
    there = seen(ended(0, 0), a_pod(1), worker)
    status = decided(there, status=created(), framework="MPI", maxRestarts=0).status
    assert (status.phase, status.restarts, status.disruptions) == (Phase.RESTARTING, 0, 1)
    assert status.failure is not None
    assert status.failure.rank == 2


def test_a_worker_that_vanished_before_the_launcher_ended_had_not_finished() -> None:
    past = Past(vanished={(1, 2): at(-80)})
    decision = decided(seen(ended(0, 0), a_pod(1), past=past), status=created(), framework="MPI")
    assert (decision.status.phase, decision.status.disruptions) == (Phase.RESTARTING, 1)


@pytest.mark.parametrize(
    "worker",
    [
        a_pod(2, deletion_requested=at(-20)),
        replace(ended(2, 0, after=1), disruption="TerminationByKubelet"),
    ],
    ids=["cleaned up", "left"],
)
def test_what_goes_after_the_launcher_ended_well_takes_nothing_back(worker: PodSeen) -> None:
    there = seen(ended(0, 0), a_pod(1), worker)
    assert decided(there, status=created(), framework="MPI").status.phase is Phase.SUCCEEDED


def unreachable_again(attempts: int, **spec: Any) -> Status:
    """The status after so many attempts of 610 s, with the last that ends now."""
    past = [
        Attempt(attempt=it, start_time=at(-620), end_time=at(-10), reason="WorkersUnreachable")
        for it in range(1, attempts)
    ]
    master = ended(0, 75, message=WORDS, reason="Error", attempt=attempts)
    others = [a_pod(it, attempt=attempts) for it in (1, 2)]
    there = seen(master, *others)
    known = {"attempt": attempts, "attempts": past, "attempt_start_time": at(-610)}
    status = created().model_copy(
        update={**known, "starting_since": at(-5000), "running_time": at(-600)}
    )
    return decided(there, status=status, framework="MPI", **spec).status


@pytest.mark.parametrize(("attempts", "seconds"), [(1, None), (2, 10), (3, 20), (9, 300)])
def test_an_attempt_that_launched_nothing_is_no_long_run(
    attempts: int, seconds: int | None
) -> None:
    due = None if seconds is None else at(seconds)
    assert unreachable_again(attempts).next_attempt_time == due


def test_nor_does_it_count_as_a_start() -> None:
    status = unreachable_again(2)
    assert status.starting_since == at(-5000)
    waits = status.model_copy(update={"next_attempt_time": None})
    there = seen(pending(0, attempt=3), pending(1, attempt=3), pending(2, attempt=3))
    late = decided(there, status=waits, framework="MPI", startupTimeoutSeconds=900).status
    assert late.phase is Phase.FAILED
    assert late.message.startswith("not all instances reached each other 900 s after start")


RAISED = Error(type="ValueError", message="no such label")


def test_the_rank_that_raised_is_the_cause_with_the_launchers_code() -> None:
    """Its pod lives on behind its door; rules of exit codes count for it all the same."""
    roll = Roll(entries=(heard(2, instance=1, received=-61, error=RAISED),))
    there = seen(ended(0, 9, message="mpirun: a process exited"), a_pod(1), a_pod(2), roll=roll)
    rules = [{"exitCodes": [9], "action": "Fail"}]
    status = decided(there, status=created(), framework="MPI", failureRules=rules).status
    assert status.failure is not None
    assert (status.failure.rank, status.failure.exit_code, status.failure.victims) == (1, 9, "0")
    assert (status.phase, "ValueError: no such label" in status.message) == (Phase.FAILED, True)


@pytest.mark.parametrize("framework", ["MPI", "PyTorch"])
def test_an_exception_that_a_rank_lived_through_is_no_cause(framework: str) -> None:
    roll = Roll(entries=(heard(2, instance=1, received=-75, error=RAISED),))
    there = seen(ended(0, 9, message="mpirun: bad"), a_pod(1), a_pod(2), roll=roll)
    failure = decided(there, status=created(), framework=framework).status.failure
    assert failure is not None
    assert failure.rank == (0 if framework == "MPI" else 1)


def test_nobody_waits_for_a_pod_that_does_not_end_with_its_ranks() -> None:
    roll = Roll(entries=(heard(2, instance=1, received=-5, error=RAISED),))
    master = replace(ended(0, 1, message="mpirun: a process exited"), noticed_end=at(-2))
    there = seen(master, a_pod(1), a_pod(2), roll=roll)
    assert decided(there, status=created(), framework="MPI").status.phase is Phase.RESTARTING
    assert decided(there, status=created()).status.phase is Phase.RUNNING


@pytest.mark.parametrize("rank", [0, 1])
def test_in_its_nodes_network_every_pod_says_where_it_listens(rank: int) -> None:
    port = {"containerPort": 29500, "hostPort": 29500}
    wanted = template({"hostNetwork": True})
    assert spec_of(rank, wanted)["containers"][0]["ports"] == [port]
    other = manifests.pod(a_job(template=wanted), rank, PROGRAMS)["spec"]["containers"][0]
    assert (port in other.get("ports", [])) == (rank == 0)
