"""Names, addresses, ports and folders of the embedded cluster.

They are fixed per machine and not per checkout: a start from another checkout
must find what an earlier one left, or it could not clear it away. The ports are
uncommon ones, so that a cluster of somebody else can stand beside ours.
"""

import dataclasses
import pathlib
from typing import Final

API_PORT: Final = 16443
ETCD_PORT: Final = 12379
ETCD_PEER_PORT: Final = 12380
CONTROLLERS_PORT: Final = 20257
SCHEDULER_PORT: Final = 20259
KUBELET_PORT: Final = 20250
KUBELET_HEALTH_PORT: Final = 20248
PROXY_HEALTH_PORT: Final = 20256
PROXY_METRICS_PORT: Final = 20249
DNS_PORT: Final = 53

PODS: Final = "10.188.0.0/16"
SERVICES: Final = "10.196.0.0/16"
FIRST_SERVICE: Final = "10.196.0.1"
LINK: Final = "10.189.0.0/24"
LINK_HOST: Final = "10.189.0.1"
GATEWAY: Final = "10.188.0.1"

BRIDGE: Final = "tj-br0"
VETH: Final = "tj-node-1"
TABLE: Final = "trainingjobs"
CGROUP: Final = "trainingjobs-"
NETWORK: Final = "tj-"
PAUSE: Final = "trainingjob.local/pause:1"

MARK: Final = "TRAININGJOB_LOCALCLUSTER"
"""Environment variable of every process of ours, and of what containerd starts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """The two folders that the embedded cluster owns."""

    state: pathlib.Path
    run: pathlib.Path

    @property
    def kubeconfig(self) -> pathlib.Path:
        """The administrator's kubeconfig."""
        return self.state / "kubeconfig"

    @property
    def pki(self) -> pathlib.Path:
        """Keys, certificates, and a kubeconfig for each component."""
        return self.state / "pki"

    @property
    def logs(self) -> pathlib.Path:
        """One log file per process."""
        return self.state / "log"

    @property
    def images(self) -> pathlib.Path:
        """What containerd keeps over a restart of the cluster."""
        return self.state / "images"

    @property
    def note(self) -> pathlib.Path:
        """What the host was like before."""
        return self.state / "host.json"

    @property
    def records(self) -> pathlib.Path:
        """Which processes were started."""
        return self.run / "processes"


MACHINE: Final = Places(
    pathlib.Path("/var/lib/trainingjob-localcluster"),
    pathlib.Path("/run/trainingjob-localcluster"),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node: where it lives, and which pods' network is behind it."""

    name: str
    address: str
    pods: str
    gateway: str
    namespace: pathlib.Path | None = None

    @property
    def cgroup(self) -> str:
        """The cgroup that holds all of this node's pods."""
        return f"{CGROUP}{self.name}"

    @property
    def prefix(self) -> list[str]:
        """What a command is preceded by to run in this node's network."""
        return ["nsenter", f"--net={self.namespace}"] if self.namespace else []


def nodes(count: int, places: Places = MACHINE) -> list[Node]:
    """The first node lives in the host's network, the second in a namespace of its own."""
    first = Node(name="node-0", address=GATEWAY, pods="10.188.0.0/24", gateway=GATEWAY)
    second = Node(
        name="node-1",
        address="10.189.0.2",
        pods="10.188.1.0/24",
        gateway="10.188.1.1",
        namespace=places.run / VETH,
    )
    return [first, second][:count]


def node_ports(node: Node) -> list[tuple[str, int]]:
    """The address and port of everything that a node listens on."""
    ports = (KUBELET_PORT, KUBELET_HEALTH_PORT, PROXY_HEALTH_PORT, PROXY_METRICS_PORT)
    return [(node.address, port) for port in ports]
