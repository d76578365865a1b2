"""The door of a worker: whom it lets in, what it runs, and when it closes."""

import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from _trainingjob_launch import children, door, ssh, strangers, visitor, wire
from _trainingjob_launch.strangers import Strangers
from launch.given import DOOR, KEY, PATIENCE, Pods, until


def greeted(sock: socket.socket, nonce: str = "a", worker: str = DOOR) -> wire.Talk:
    """What both sides know after a door has proved itself to somebody."""
    sock.sendall(wire.pack({"nonce": nonce, "worker": worker}))
    said = wire.read_line(sock, wire.MAX_HELLO, PATIENCE)
    talk = wire.Talk(said["attempt"], said["worker"], nonce, said["nonce"])
    assert wire.same(talk.of_door(KEY), said["mac"])
    return talk


def answered(pods: Pods, line: bytes, *, first: bool = False) -> bytes:
    """All that comes back for a line of somebody's, as the first one or after the greeting."""
    with pods.visit() as sock:
        if not first:
            greeted(sock)
        sock.sendall(line)
        with sock.makefile("rb") as stream:
            return stream.read()


def still_works(pods: Pods) -> bool:
    return pods.run("ssh", "127.0.0.10", "echo", "fine").stdout == "fine\n"


def test_output_comes_in_both_streams_with_the_exit_code(pods: Pods) -> None:
    pods.open_door()
    ran = pods.run("ssh", "127.0.0.10", "echo out; echo err >&2; exit 7")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("out\n", "err\n", 7)


def test_much_output_comes_whole(pods: Pods) -> None:
    pods.open_door()
    ran = pods.run("ssh", "127.0.0.10", "seq 200000")
    assert ran.stdout == "".join(f"{number}\n" for number in range(1, 200_001))


def test_a_signal_is_an_exit_code_as_in_a_shell(pods: Pods) -> None:
    pods.open_door()
    assert pods.run("ssh", "127.0.0.10", "kill -9 $$").returncode == 128 + signal.SIGKILL


def test_commands_have_the_doors_environment_and_find_our_ssh(pods: Pods) -> None:
    pods.open_door(OF_THE_WORKER="here")
    ran = pods.run("ssh", "127.0.0.10", "echo $OF_THE_WORKER; command -v ssh")
    assert ran.stdout == f"here\n{pods.here}/bin/ssh\n"


def test_standard_input_is_empty(pods: Pods) -> None:
    pods.open_door()
    assert pods.run("ssh", "127.0.0.10", "cat; echo done").stdout == "done\n"


def test_the_wrong_key_runs_nothing_and_is_not_told_in_the_log(pods: Pods, tmp_path: Path) -> None:
    door = pods.open_door()
    pods.give(b"a guess")
    ran = pods.run("ssh", "127.0.0.10", f"touch {tmp_path}/broken")
    assert (ran.returncode, "wrong key" in ran.stderr) == (255, True)
    asked = {"purpose": wire.RUN, "command": f"touch {tmp_path}/broken", "mac": "a guess"}
    assert b"wrong key" in answered(pods, wire.pack(asked))
    assert not (tmp_path / "broken").exists()
    pods.give(KEY)
    assert still_works(pods)
    door.terminate()
    _, log = door.communicate(timeout=PATIENCE)
    assert "refused" in log
    assert not [secret for secret in ("a key", "a guess", "touch") if secret in log]


def test_what_was_sent_once_cannot_be_sent_again(pods: Pods, tmp_path: Path) -> None:
    pods.open_door()
    command = f"echo >> {tmp_path}/ran"
    with pods.visit() as sock:
        mac = greeted(sock).of_launcher(KEY, wire.RUN, command)
        line = wire.pack({"purpose": wire.RUN, "command": command, "mac": mac})
        sock.sendall(line)
        assert list(wire.frames(sock)) == [(wire.EXIT, b"0")]
    assert b"wrong key" in answered(pods, line)
    assert (tmp_path / "ran").read_text() == "\n"


@pytest.mark.parametrize("changed", ["purpose", "command"])
def test_the_signature_covers_what_is_asked_for(pods: Pods, changed: str) -> None:
    pods.open_door()
    with pods.visit() as sock:
        asked = {"purpose": wire.HELLO, "command": ""}
        mac = greeted(sock).of_launcher(KEY, *asked.values())
        sock.sendall(wire.pack({**asked, "mac": mac, changed: "leave"}))
        assert list(wire.frames(sock)) == [(wire.NO, b"wrong key")]


def test_a_pod_of_another_attempt_is_not_commanded(pods: Pods) -> None:
    pods.open_door(TRAININGJOB_ATTEMPT="2")
    with pytest.raises(wire.WireError, match="it belongs to attempt 2"):
        wire.dial(pods.group, DOOR, wire.HELLO)


def test_another_worker_is_not_commanded(pods: Pods) -> None:
    """A name may lead to a pod that is no more, and its address to another."""
    pods.size = 3
    pods.open_door()
    with pytest.raises(wire.WireError, match=r"it is 127\.0\.0\.10"):
        wire.dial(pods.group, "127.0.0.11", wire.HELLO)
    assert pods.run("launch", "--", "true", TRAININGJOB_LAUNCH_SECONDS="0.2").returncode == 75


class Impostor:
    """Somebody without the key who listens where a worker should, and what it is told."""

    def __init__(self, pods: Pods, **claims: str) -> None:
        self.heard: list[dict[str, str]] = []
        self._claims = {"attempt": "1", "worker": DOOR, "nonce": "b", **claims}
        self._listener = socket.create_server(("127.0.0.10", pods.port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        sock, _ = self._listener.accept()
        with self._listener, sock:
            self.heard.append(wire.read_line(sock, wire.MAX_HELLO, PATIENCE))
            sock.sendall(wire.pack(self._claims))
            while True:
                try:
                    self.heard.append(wire.read_line(sock, wire.MAX_LINE, PATIENCE))
                except (wire.WireError, OSError):
                    return


@pytest.mark.parametrize("mac", ["", "0" * 64, "é"])
def test_who_does_not_prove_itself_is_told_no_command(pods: Pods, mac: str) -> None:
    impostor = Impostor(pods, mac=mac)
    ran = pods.run("ssh", DOOR, "echo secret")
    assert (ran.returncode, "wrong key" in ran.stderr) == (255, True)
    assert "secret" not in str(impostor.heard)


def test_a_doors_proof_is_of_no_use_to_another(pods: Pods) -> None:
    """Neither for another question, nor as the proof of a launcher."""
    pods.open_door()
    with pods.visit() as sock:
        talk = greeted(sock)
        line = {"purpose": wire.HELLO, "command": "", "mac": talk.of_door(KEY)}
        sock.sendall(wire.pack(line))
        assert list(wire.frames(sock)) == [(wire.NO, b"wrong key")]
    with pods.visit() as sock:
        other = greeted(sock)
    assert not wire.same(other._replace(asked="c").of_door(KEY), other.of_door(KEY))
    assert other.answered != talk.answered


@pytest.mark.parametrize(
    "line",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"{}\n",
        b'{"purpose": 1}\n',
        b'{"mac": null}\n',
        b'{"mac": "\xc3\xa9"}\n',
        b"\n",
        b"x" * (wire.MAX_LINE + 100),
        b"[" * 100_000 + b"\n",
    ],
    ids=["http", "bytes", "list", "empty", "number", "null", "é", "nothing", "long", "deep"],
)
def test_garbage_gets_no_further(pods: Pods, line: bytes) -> None:
    pods.open_door()
    for first in (True, False):
        try:
            answer = answered(pods, line, first=first)
        except ConnectionError:
            answer = b""
        assert answer in {b"", wire.frame(wire.NO, b"wrong key")} or (first and b"mac" in answer)
    assert still_works(pods)


def test_strangers_that_hold_on_keep_nobody_out(pods: Pods) -> None:
    """Idle ones made a launcher wait, and its ssh gave up."""
    pods.open_door()
    strangers = [socket.create_connection(("127.0.0.1", pods.port)) for _ in range(200)]
    for stranger in strangers[::2]:
        with suppress(OSError):
            stranger.sendall(b"{")
    began = time.monotonic()
    assert still_works(pods)
    assert time.monotonic() - began < visitor.HANDSHAKE_SECONDS
    for stranger in strangers:
        stranger.close()


def test_a_stranger_is_not_waited_for(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it drips: all that it says has one time."""
    monkeypatch.setattr(visitor, "HANDSHAKE_SECONDS", 0.5)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(wire.pack({"nonce": "a", "worker": DOOR}) + b"{")
        began = time.monotonic()
        with pytest.raises(wire.WireError):
            visitor.request(ours, pods.group)
        assert time.monotonic() - began < 0.9


def pair() -> tuple[socket.socket, socket.socket]:
    """A connection, and what the other side has of it."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(0)
    return ours, theirs


def has_gone(theirs: socket.socket) -> bool:
    try:
        return theirs.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_oldest_of_the_greediest_goes_first() -> None:
    here = Strangers(4)
    pairs = [pair() for _ in range(6)]
    for (sock, _), address in zip(pairs, ["a", "b", "b", "c", "d", "d"], strict=True):
        here.welcome(sock, address)
    assert [has_gone(theirs) for _, theirs in pairs] == [True, True, False, False, False, False]
    assert len(here) == 4
    here.forget(pairs[5][0])
    assert len(here) == 3
    for both in pairs:
        for sock in both:
            sock.close()


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8:0:0:9::2", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("?", "?"),
    ],
)
def test_who_has_many_addresses_is_one(address: str, place: str) -> None:
    assert strangers.place(address) == place


def test_a_door_listens_to_ipv6_as_well(pods: Pods) -> None:
    pods.open_door(TRAININGJOB_ADDR="::1")
    with socket.create_server(("::1", 0), family=socket.AF_INET6):
        wire.ask(pods.group, "::1", wire.HELLO)


def test_a_host_that_is_called_by_its_ipv6_address_is_known(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is written."""
    own = pods.group._replace(worker="w-%d.a.b", master="m.a.b", me="w-0.a.b")
    known = {"w-0.a.b": {"2001:db8::5"}, "m.a.b": {"2001:db8::4"}}
    monkeypatch.setattr(ssh, "_addresses", lambda host: known.get(host, set()))
    assert ssh._named(own, "2001:DB8:0::5") == "w-0.a.b"  # noqa: SLF001
    assert ssh._named(own, "2001:db8::6") == ""  # noqa: SLF001


def test_a_line_has_so_many_seconds_however_it_drips() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"{")
        with pytest.raises(wire.WireError, match="no answer"):
            wire.read_line(ours, wire.MAX_LINE, 0.2)


@pytest.mark.parametrize(
    "line", [b"[" * 100_000 + b"\n", b'{"mac": "\\ud800"}\n'], ids=["deep", "half a letter"]
)
def test_what_no_program_of_ours_says_is_another_language(line: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(line)
        with pytest.raises(wire.WireError, match="another language"):
            wire.read_line(ours, wire.MAX_LINE, PATIENCE)


def test_a_command_may_have_bytes_that_are_no_text(pods: Pods) -> None:
    pods.open_door()
    ran = pods.run("ssh", "127.0.0.10", os.fsdecode(b"printf '\xff' | od -An -tx1"))
    assert (ran.stdout, ran.returncode) == (" ff\n", 0)


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_with_no_room_for_a_thread_the_door_stays_open(
    pods: Pods, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = door.Door(pods.group)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with socket.create_server(("127.0.0.1", pods.port)) as listener:
        for _ in range(door.MAX_STRANGERS + 1):
            with pods.visit() as sock:
                mine.accept(listener)
                assert sock.recv(1) == b""
    assert capsys.readouterr().err == "door: no room for another thread\n"


def test_what_nobody_could_listen_to_is_ended(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    own = children.Children()
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    start = own.start
    monkeypatch.setattr(own, "start", lambda *args: started.append(start(*args)) or started[0])
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(OSError, match="no room"):
        visitor.run("sleep 60", pods.group, own, visitor.Answer(ours))
    assert os.waitpid(started[0].pid, 0)[1] == signal.SIGKILL


def test_who_hangs_up_leaves_it_running(pods: Pods, tmp_path: Path) -> None:
    pods.open_door()
    go, ran = tmp_path / "go", tmp_path / "ran"
    wait = f"touch {tmp_path}/begun; until [ -e {go} ]; do echo on; sleep 0.05; done; touch {ran}"
    client = pods.start("ssh", "127.0.0.10", wait)
    until((tmp_path / "begun").exists)
    client.kill()
    go.touch()
    until(ran.exists)


DAEMON = (
    "setsid sh -c 'until [ -e {go} ]; do sleep 0.05; done; touch {ran}' "
    ">/dev/null 2>&1 </dev/null &"
)


def test_told_to_stop_it_waits_for_what_runs_and_takes_nothing_new(
    pods: Pods, tmp_path: Path
) -> None:
    door = pods.open_door()
    go, ran = tmp_path / "go", tmp_path / "ran"
    assert pods.run("ssh", "127.0.0.10", DAEMON.format(go=go, ran=ran)).returncode == 0
    door.send_signal(signal.SIGTERM)
    until(lambda: not pods.knock(door))
    assert door.poll() is None
    go.touch()
    assert door.wait(PATIENCE) == 128 + signal.SIGTERM
    assert ran.exists()


def test_with_nothing_to_wait_for_it_stops_at_once(pods: Pods) -> None:
    door = pods.open_door()
    door.send_signal(signal.SIGTERM)
    assert door.wait(5) == 128 + signal.SIGTERM


def test_told_to_stop_it_tells_its_ranks(pods: Pods, tmp_path: Path) -> None:
    """A rank that saves its work has the time that it needs; its helpers are its own to tell."""
    door = pods.open_door()
    rank = (
        f"trap 'sleep 1; touch {tmp_path}/saved; exit 0' TERM; touch {tmp_path}/begun; "
        "while :; do sleep 0.05; done"
    )
    (tmp_path / "rank.sh").write_text(rank)
    pods.start("ssh", "127.0.0.10", f"OMPI_COMM_WORLD_RANK=2 sh {tmp_path}/rank.sh")
    until((tmp_path / "begun").exists)
    door.send_signal(signal.SIGTERM)
    assert door.wait(PATIENCE) == 128 + signal.SIGTERM
    assert (tmp_path / "saved").exists()


def test_what_is_not_below_it_is_not_told(pods: Pods) -> None:
    """A pod may see its node's processes, and these tests see those of a cluster."""
    door = pods.open_door()
    mark = {"OMPI_COMM_WORLD_RANK": "0"}
    with subprocess.Popen(["sleep", "60"], env=mark) as other:
        door.send_signal(signal.SIGTERM)
        assert door.wait(PATIENCE) == 128 + signal.SIGTERM
        assert other.poll() is None
        other.kill()


def test_the_end_of_the_launcher_is_a_good_end(pods: Pods) -> None:
    door = pods.open_door()
    wire.ask(pods.group, "127.0.0.10", wire.LEAVE)
    assert door.wait(PATIENCE) == 0


def test_what_ends_while_it_leaves_is_told_its_code(pods: Pods, tmp_path: Path) -> None:
    door = pods.open_door()
    client = pods.start("ssh", "127.0.0.10", f"touch {tmp_path}/begun; sleep 1; exit 3")
    until((tmp_path / "begun").exists)
    wire.ask(pods.group, "127.0.0.10", wire.LEAVE)
    assert client.wait(PATIENCE) == 3
    assert door.wait(PATIENCE) == 0


def test_nobody_else_can_send_it_away(pods: Pods) -> None:
    door = pods.open_door()
    with pytest.raises(wire.WireError, match="wrong key"):
        wire.ask(replace_key(pods, b"a guess"), "127.0.0.10", wire.LEAVE)
    assert door.poll() is None


def replace_key(pods: Pods, key: bytes) -> "wire.Group":
    return pods.group._replace(key=key)


def test_no_child_is_left_unburied(pods: Pods) -> None:
    door = pods.open_door()
    for _ in range(5):
        assert pods.run("ssh", "127.0.0.10", "sh -c 'sleep 0.1 &'").returncode == 0
    until(lambda: not _children(door))


def _children(process: subprocess.Popen[str]) -> list[str]:
    listed = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [pid for path in listed for pid in path.read_text().split()]


def test_it_lists_the_hosts_for_launchers_of_both_kinds(pods: Pods) -> None:
    pods.size = 3
    pods.open_door()
    assert (pods.lists / "hostfile").read_text() == (
        "127.0.0.1 slots=2\n127.0.0.10 slots=2\n127.0.0.11 slots=2\n"
    )
    assert (pods.lists / "machinefile").read_text() == ("127.0.0.1:2\n127.0.0.10:2\n127.0.0.11:2\n")
