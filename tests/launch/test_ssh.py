"""What stands in ssh's place takes a launcher's command line as ssh would."""

import os
import socket
import subprocess

import pytest

from _trainingjob_launch import group, ssh, wire
from launch.given import KEY, Pods


@pytest.mark.parametrize(
    ("arguments", "host", "command"),
    [
        ("h true", "h", "true"),
        ("-x h /usr/bin/hydra_pmi_proxy --control-port m:1", "h",
         "/usr/bin/hydra_pmi_proxy --control-port m:1"),
        ("-o StrictHostKeyChecking=no -oPasswordAuthentication=no h a b", "h", "a b"),
        ("-p 22 -p22 -i /key -l me h a", "h", "a"),
        ("-tt -T -n -q -A h a", "h", "a"),
        ("-qx -tp 22 h a", "h", "a"),
        ("me@h -x a -y", "h", "a -y"),
        ("-o A=no h -p 22 -o ConnectTimeout=10 true -p", "h", "true -p"),  # horovodrun
        ("-x -- h a", "h", "a"),
        ("h -- a -b", "h", "a -b"),
        ("h", "h", ""),
        ("-p 22", "", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_options_are_taken_and_mean_nothing(arguments: str, host: str, command: str) -> None:
    assert ssh.parsed(arguments.split()) == (host, command)


def test_words_are_one_line_for_the_shell_as_with_ssh(pods: Pods) -> None:
    pods.open_door()
    ran = pods.run("ssh", "-x", "127.0.0.10", "echo", "$((1 + 1))", ";", "echo 'a  b'")
    assert ran.stdout == "2\na  b\n"


@pytest.mark.parametrize("host", ["localhost", socket.gethostname()])
def test_what_is_here_runs_here(pods: Pods, host: str) -> None:
    ran = pods.run("ssh", host, "echo $MINE; exit 4", MINE="own")
    assert (ran.stdout, ran.returncode) == ("own\n", 4)


@pytest.mark.parametrize("arguments", [("127.0.0.10",), ("-p", "22"), ()])
def test_without_a_command_it_says_what_is_missing(pods: Pods, arguments: tuple[str, ...]) -> None:
    ran = pods.run("ssh", *arguments)
    assert (ran.returncode, "a command are needed" in ran.stderr) == (255, True)


def test_a_host_that_is_not_there_fails_as_with_ssh(
    pods: Pods, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ssh, "_TRY_SECONDS", 0.0)
    assert ssh.main(pods.group, ["127.0.0.10", "true"]) == 255
    assert capsys.readouterr().err == "ssh: 127.0.0.10: refuses the connection\n"


def test_a_connection_that_ends_early_is_no_success(pods: Pods) -> None:
    door = pods.open_door()
    client = pods.start("ssh", "127.0.0.10", f"kill -9 {door.pid}")
    _, err = client.communicate(timeout=20)
    assert (client.returncode, "lost" in err or "Connection" in err) == (255, True)


def test_a_workers_short_name_is_enough(pods: Pods) -> None:
    own = pods.group._replace(worker="mnist-worker-%d.mnist.lab.svc.cluster.local")
    assert own.full("mnist-worker-12") == "mnist-worker-12.mnist.lab.svc.cluster.local"
    for other in ("mnist-worker-", "mnist-master", "10.0.0.1", "mnist-worker-1.mnist"):
        assert own.full(other) == other


@pytest.mark.parametrize(
    "mine", [{"MASTER_PORT": "1"}, {"LOCAL_WORLD_SIZE": "x"}, {"MASTER_ADDR": "elsewhere"}]
)
def test_what_a_program_makes_of_its_variables_is_no_concern_of_ours(
    pods: Pods, mine: dict[str, str]
) -> None:
    pods.open_door()
    ran = pods.run("ssh", "127.0.0.10", "echo fine", **mine)
    assert (ran.stdout, ran.stderr) == ("fine\n", "")
    assert KEY not in (pods.lists / "127.json").read_bytes()


def test_pods_that_share_a_memory_find_their_own(pods: Pods) -> None:
    """Two instances of one node, where the user's own volume of the node is at /dev/shm."""
    for number in (0, 1):
        group.write(pods.group._replace(me=f"w-{number}.a.b", port=29500 + number))
    for number in (0, 1):
        mine = pods.environment(TRAININGJOB_ADDR=f"w-{number}.a.b")
        assert group.recalled(mine, str(pods.here)).port == 29500 + number
    assert not list(pods.lists.glob("*.*.*")), "nothing is left of the writing"


def test_a_name_that_can_be_none_does_not_resolve(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "_TRY_SECONDS", 0.0)
    own = pods.group._replace(worker="a..%d")
    with pytest.raises(wire.WireError, match="does not resolve"):
        wire.dial(own, "a..0", wire.HELLO)
    assert ssh.main(own, ["a..0", "true"]) == 255


def stranger(pods: Pods) -> str:
    """A path with another ssh on it, behind ours."""
    folder = pods.folder / "usr"
    folder.mkdir()
    (folder / "ssh").write_text('#!/bin/sh\necho another: "$@"\nexit 6\n')
    (folder / "ssh").chmod(0o755)
    return os.pathsep.join([str(pods.here / "bin"), str(pods.here), str(folder), "/usr/bin:/bin"])


def test_other_hosts_are_left_to_the_images_own_ssh(pods: Pods) -> None:
    """As of `git fetch` over ssh."""
    line = ("-p", "22", "git@git.invalid", "git-upload-pack 'a b'")
    ran = pods.run("bin/ssh", *line, PATH=stranger(pods))
    assert (ran.stdout, ran.returncode) == (f"another: {' '.join(line)}\n", 6)


def test_without_one_they_fail_at_once_with_a_sentence(pods: Pods) -> None:
    ran = pods.run("ssh", "git@git.invalid", "true", PATH=str(pods.here / "bin"))
    assert (ran.returncode, ran.stderr) == (
        255,
        "ssh: git.invalid is no host of this job, and the image has no ssh\n",
    )


def test_the_path_has_the_programs_that_others_look_for(pods: Pods) -> None:
    found = pods.run("ssh", "localhost", "command -v ssh; command -v hosts; command -v door")
    assert found.stdout.splitlines()[:2] == [f"{pods.here}/bin/{it}" for it in ("ssh", "hosts")]
    assert len(found.stdout.splitlines()) == 2


def test_modules_of_the_users_do_not_stand_before_those_that_we_need(pods: Pods) -> None:
    mine = pods.folder / "mine"
    mine.mkdir()
    for name in ("hmac", "secrets", "ipaddress", "sitecustomize", "usercustomize"):
        (mine / f"{name}.py").write_text("print('not this one')\nraise SystemExit(1)\n")
    pods.open_door(PYTHONPATH=str(mine))
    path = os.pathsep.join([str(pods.here / "bin"), os.environ["PATH"]])
    ran = subprocess.run(
        ["ssh", "127.0.0.10", "echo $PYTHONPATH"],
        env={**pods.environment(), "PYTHONPATH": str(mine), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == (f"{mine}\n", "")


@pytest.mark.parametrize("attempt", ["2\x1b[2J\n3", "2" * 2000])
def test_what_a_stranger_says_is_quoted_in_part(pods: Pods, attempt: str) -> None:
    pods.open_door(TRAININGJOB_ATTEMPT=attempt)
    with pytest.raises(wire.WireError, match="it belongs to attempt 2") as error:
        wire.dial(pods.group, "127.0.0.10", wire.HELLO)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 130


def test_outside_of_a_job_it_says_so(pods: Pods) -> None:
    ran = pods.run("ssh", "h", "true", MASTER_PORT="none")
    assert (ran.returncode, "no pod of an MPI job" in ran.stderr) == (255, True)
