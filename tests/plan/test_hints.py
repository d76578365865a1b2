"""What a failure's last words lead to: a name and a way out for mistakes that many have made."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_pod, at, ended, seen
from cases.given import decided, going
from trainingjobs.model.status import Failure, Phase
from trainingjobs.model.text import MAX_MESSAGE
from trainingjobs.plan import hints

WORDS = {
    "a worker of the data loader": (
        "RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error. It is possible",
        "SharedMemoryTooSmall",
    ),
    "a shell that tells of it": ("step 7\nBus error (core dumped)", "SharedMemoryTooSmall"),
    "what the data loader makes of it": (
        (
            "RuntimeError: DataLoader worker (pid 93) is killed by signal: Bus error. It is\n\n"
            "RuntimeError: DataLoader worker (pid(s) 93) exited unexpectedly"
        ),
        "SharedMemoryTooSmall",
    ),
    "its last line alone": (
        "RuntimeError: DataLoader worker (pid(s) 93) exited unexpectedly (train.py:9)",
        "LoaderWorkerDied",
    ),
    "a spawned process": (
        "ProcessExitedException: process 1 terminated with signal SIGBUS",
        "SharedMemoryTooSmall",
    ),
    "the port, as torch says it": (
        (
            "torch.distributed.DistNetworkError: The server socket has failed to bind to [::]:1 "
            "(errno: 98 - Address already in use)."
        ),
        "PortInUse",
    ),
    "the job's port, as Python says it": (
        "OSError: [Errno 98] Address already in use: ('0.0.0.0', 29500)",
        "PortInUse",
    ),
    "NCCL's form for gloo": ("RuntimeError: Unable to find address for: ^lo", "InterfaceUnknown"),
    "no room for shared memory": (
        "RuntimeError: unable to allocate shared memory(shm) for file </torch_7>: No space left",
        "SharedMemoryTooSmall",
    ),
    "a file of a checkpoint": (
        "RuntimeError: PytorchStreamReader failed reading file data/3: file read failed",
        "CheckpointTorn",
    ),
    "an interface that is not there": (
        "RuntimeError: [enforce fail at device.cc:127] Unable to find address for: ib0",
        "InterfaceUnknown",
    ),
    "a warning, and what comes of it": (
        "Warning: Using the loopback address as fallback.\nRuntimeError: Connection refused",
        "LoopbackAddress",
    ),
    "a peer at 127.0.0.1": (
        "RuntimeError: Gloo connectFullMesh failed with no error, remote=[127.0.0.1]:41003",
        "LoopbackAddress",
    ),
    "other collectives": (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running",
        "CollectivesDiffer",
    ),
    "other shapes": (
        "terminate called\n  what():  op.preamble.length <= op.nbytes. 800 vs 400\nAborted",
        "CollectivesDiffer",
    ),
    "other shapes in a spawned process": (
        (
            "  what():  [enforce fail at pair.cc:446] op.preamble.length <= op.nbytes. 200 vs 100\n"
            "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal "
            "SIGABRT"
        ),
        "CollectivesDiffer",
    ),
    "a torn checkpoint": (
        (
            "RuntimeError: PytorchStreamReader failed reading zip archive: "
            "failed finding central directory"
        ),
        "CheckpointTorn",
    ),
    "a rank that did not come": (
        "DistStoreError: Timed out after 1801 seconds waiting for clients. 2/3 clients joined.",
        "RendezvousTimeout",
    ),
    "a master that nobody reaches": (
        "DistNetworkError: The client socket has timed out after 60000ms while trying to connect",
        "RendezvousTimeout",
    ),
    "gloo waits": (
        "RuntimeError: Timed out waiting 1800000ms for recv operation to complete",
        "CollectiveTimeout",
    ),
    "a bus error under torchrun": ("[default0]:Bus error (core dumped)", "SharedMemoryTooSmall"),
    "a peer's end before torch's trace": (
        (
            "[rank0]: Traceback (most recent call last):\n"
            '[rank0]:   File "train.py", line 9, in <module>\n'
            "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is"
        ),
        "CollectivesDiffer",
    ),
    "NCCL waits": (
        "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=47)\nAborted",
        "CollectiveTimeout",
    ),
}
LOST = "RuntimeError: Connection closed by peer [10.0.0.7]:39284"
OTHERS = {
    "an error of its own": "ValueError: label 10 of sample 4 is out of range (train.py:16)",
    "a warning of before": "the server socket: Address already in use\nValueError: no such label",
    "nothing": "",
    "a time-out of the web": "requests.ConnectTimeout: Connection to huggingface.co timed out.",
    "a time-out of a data base": "psycopg2.OperationalError: connection to server timed out",
    "clients that are no ranks": "lobby: 3 clients joined",
    "too many files": (
        "RuntimeError: unable to open shared memory object </torch_7>: Too many open files (24)"
    ),
    "a segment that is gone": (
        "RuntimeError: unable to open shared memory object </torch_7>: No such file or directory"
    ),
    "a data base's memory": "psycopg2.errors.OutOfMemory: out of shared memory",
    "a GPU's memory": "RuntimeError: CUDA error: out of shared memory",
    "another bus": "OSError: i2c bus error",
    "another archive": "RuntimeError: PytorchStreamReader failed locating file data.pkl",
    "another port": "OSError: [Errno 98] Address already in use: ('0.0.0.0', 8080)",
    "an interface of an address": "RuntimeError: Unable to find interface for: [10.0.0.1]",
    "any exception after a trace": (
        'EADDRINUSE\nTraceback (most recent call last):\n  File "a.py"\nmine.Oops: no label\nbye'
    ),
    "an error of its own, as torch's hook prints it": (
        "the server socket: Address already in use\n[rank1]: ValueError: no such label"
    ),
    "any exception after torch's trace": (
        "EADDRINUSE\n[rank12]: Traceback (most recent call last):\n"
        '[rank12]:   File "a.py"\n[rank12]: mine.Oops: no label\nbye'
    ),
    "the same under torchrun": "EADDRINUSE\n[default1]:[rank1]: KeyError: 'label'",
    "a lost peer, and nobody has left": LOST,
}


def failure(message: str, code: int | None = 1) -> Failure:
    return Failure(rank=1, pod="p", exit_code=code, reason="Error", message=message)


@pytest.mark.parametrize(("words", "name"), WORDS.values(), ids=WORDS)
def test_a_known_mistake_is_named_with_the_way_out(words: str, name: str) -> None:
    assert hints.hint(failure(words), (), 29500).startswith(f"{name}: ")


@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS)
def test_what_is_not_known_gets_no_hint(words: str) -> None:
    assert hints.hint(failure(words), (), 29500) == ""


def test_a_process_that_a_bus_error_ended_has_no_last_words() -> None:
    assert hints.hint(failure("", 135), (), 29500).startswith(
        "SharedMemoryTooSmall: most often /dev/shm is full"
    )


@pytest.mark.parametrize("code", [130, 137, 139, 143])
def test_what_another_signal_ended_gets_no_hint(code: int) -> None:
    said = "DistNetworkError: The server socket: EADDRINUSE"
    assert hints.hint(failure(said, code), (), 29500) == ""
    assert hints.hint(failure(LOST, code), {0}, 29500) == ""
    assert hints.hint(failure(said, 134), (), 29500).startswith("PortInUse")


@pytest.mark.parametrize(
    "words",
    [
        "requests.exceptions.ConnectionError: Connection reset by peer",
        "urllib3.exceptions.ProtocolError: Connection reset by peer",
        "botocore.exceptions.EndpointConnectionError: Connection refused",
        "HTTPError: connection closed",
        "BrokenPipeError: [Errno 32] Broken pipe",
    ],
)
def test_a_connection_of_the_web_is_no_lost_peer(words: str) -> None:
    assert hints.hint(failure(words), {0}, 29500) == ""


@pytest.mark.parametrize(("done", "name"), [({0}, "MasterLeft"), ({2, 3}, "UnevenInputs")])
def test_who_lost_a_peer_when_others_had_ended(done: set[int], name: str) -> None:
    assert hints.hint(failure(LOST), done, 29500).startswith(f"{name}: rank {min(done)}")
    assert hints.hint(failure("ValueError: no"), done, 29500) == ""


@pytest.mark.parametrize(
    ("rest", "phase"), [({}, Phase.RESTARTING), ({"maxRestarts": 0}, Phase.FAILED)]
)
def test_the_hint_stands_in_the_message_after_the_last_line(
    rest: dict[str, Any], phase: Phase
) -> None:
    words = "DistNetworkError: The server socket has failed: Address already in use"
    status = decided(seen(ended(0, 1, message=words), a_pod(1), a_pod(2)), **rest).status
    assert status.phase is phase
    assert f"exited with code 1: {words}; PortInUse: another process" in status.message
    assert status.failure is not None
    assert status.failure.message == words


def test_a_disruption_needs_no_hint() -> None:
    """Who was told to go may complain of whatever it likes."""
    taken = a_pod(0, deletion_requested=at(-70), phase="Failed", running=False)
    said = ended(0, 1, message="OSError: EADDRINUSE").exit
    told = a_pod(0, deletion_requested=at(-70), phase="Failed", running=False, exit=said)
    assert "PortInUse" not in decided(seen(told, a_pod(1), a_pod(2))).status.message
    assert decided(seen(taken, a_pod(1), a_pod(2))).status.disruptions == 1


@given(st.text(max_size=1024), st.sets(st.integers(0, 9999), max_size=400))
def test_with_its_hint_a_message_fits_whatever_was_said(words: str, done: set[int]) -> None:
    assert len(hints.hint(failure(f"{words}\n{LOST}"), done, 29500)) < MAX_MESSAGE // 3
    line = f"RuntimeError: {words.strip()} EADDRINUSE"[-1024:]
    message = decided(seen(ended(0, 1, message=line), a_pod(1), a_pod(2)), going()).status.message
    assert len(message) <= MAX_MESSAGE


def test_a_long_last_line_leaves_room_for_the_hint() -> None:
    line = f"RuntimeError: EADDRINUSE {'x' * 1000}"
    there = seen(ended(0, 1, message=line), a_pod(1), a_pod(2))
    assert "set spec.port (restarted 0 of 0 times)" in decided(there, maxRestarts=0).status.message
