"""What the programs of a node are told.

Two nodes share one machine, so each has its own folders, sockets, cgroup, network
name and addresses; nothing is left at a default that both would use.
"""

import dataclasses
import json
import pathlib
from typing import Any

import yaml

from localcluster import dns, places, versions


@dataclasses.dataclass(frozen=True, slots=True)
class Home:
    """The folders of one node."""

    at: places.Places
    node: places.Node

    @property
    def folder(self) -> pathlib.Path:
        """What the node has while the cluster is up."""
        return self.at.state / "nodes" / self.node.name

    @property
    def store(self) -> pathlib.Path:
        """Its images, which stay; a store of another containerd is not read."""
        return self.at.images / f"containerd-{versions.CONTAINERD}" / self.node.name

    @property
    def run(self) -> pathlib.Path:
        """Its sockets and mounts."""
        return self.at.run / self.node.name

    @property
    def socket(self) -> pathlib.Path:
        """Where its containerd listens."""
        return self.run / "containerd.sock"

    @property
    def network(self) -> str:
        """The name of its network, which the network plugins keep their files under."""
        return f"{places.NETWORK}{self.node.name}"


def conflist(home: Home) -> str:
    """The network of the node's pods: a routed link for each."""
    ipam = {
        "type": "host-local",
        "dataDir": str(home.folder / "ipam"),
        "ranges": [[{"subnet": home.node.pods, "gateway": home.node.gateway}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugin = {"type": "ptp", "ipMasq": False, "ipam": ipam}
    document = {"cniVersion": "1.0.0", "name": home.network, "plugins": [plugin]}
    return json.dumps(document, indent=2)


def containerd(home: Home, plugins: pathlib.Path) -> str:
    """Containerd's configuration. Mounts stay below its own folder, so that they can be found."""
    return f"""\
version = 3
root = "{home.store}"
state = "{home.run}"
[grpc]
  address = "{home.socket}"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{places.PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{plugins}"]
    conf_dir = "{home.folder / "cni"}"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def kubelet(home: Home) -> str:
    """The kubelet's configuration."""
    node, pki = home.node, home.at.pki
    document: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "port": places.KUBELET_PORT,
        "healthzBindAddress": node.address,
        "healthzPort": places.KUBELET_HEALTH_PORT,
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": str(pki / "ca.crt")},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki / f"{node.name}.crt"),
        "tlsPrivateKeyFile": str(pki / f"{node.name}.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{home.socket}",
        "clusterDNS": [places.GATEWAY],
        "clusterDomain": dns.DOMAIN,
        "resolvConf": str(home.at.state / "resolv.conf"),
        "podLogsDir": str(home.folder / "pod-logs"),
        "volumePluginDir": str(home.folder / "volume-plugins"),
        "makeIPTablesUtilChains": False,
        "maxPods": 110,
        "serializeImagePulls": False,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
    }
    return yaml.safe_dump(document, sort_keys=False)


def kubelet_command(home: Home) -> list[str]:
    """The kubelet's command line."""
    return [
        "kubelet",
        f"--config={home.folder / 'kubelet.yaml'}",
        f"--kubeconfig={home.at.pki / home.node.name}.kubeconfig",
        f"--hostname-override={home.node.name}",
        f"--node-ip={home.node.address}",
        f"--root-dir={home.folder / 'kubelet'}",
        f"--cert-dir={home.folder / 'kubelet/pki'}",
    ]


def proxy_command(home: Home) -> list[str]:
    """The kube-proxy's command line; zeros leave the host's connection tracking as it is."""
    return [
        "kube-proxy",
        f"--kubeconfig={home.at.pki / 'proxy.kubeconfig'}",
        f"--hostname-override={home.node.name}",
        "--proxy-mode=nftables",
        f"--cluster-cidr={places.PODS}",
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
        f"--healthz-bind-address={home.node.address}:{places.PROXY_HEALTH_PORT}",
        f"--metrics-bind-address={home.node.address}:{places.PROXY_METRICS_PORT}",
    ]
