"""What the programs of the cluster are told."""

import itertools
import json
import pathlib
import tomllib

import pytest
import yaml

from localcluster import controlplane, dns, network, nodeconfig, places

AT = places.Places(pathlib.Path("/state"), pathlib.Path("/run/ours"))
FIRST, SECOND = (nodeconfig.Home(AT, node) for node in places.nodes(2, AT))


def test_two_nodes_share_no_folder_socket_cgroup_or_address() -> None:
    first, second = (yaml.safe_load(nodeconfig.kubelet(home)) for home in (FIRST, SECOND))
    own = ("address", "cgroupRoot", "containerRuntimeEndpoint", "podLogsDir", "volumePluginDir")
    assert all(first[key] != second[key] for key in own)
    shared = set(nodeconfig.kubelet_command(FIRST)) & set(nodeconfig.kubelet_command(SECOND))
    assert shared == {"kubelet"}


def test_a_node_takes_a_usual_number_of_pods_and_cgroup_v1() -> None:
    found = yaml.safe_load(nodeconfig.kubelet(FIRST))
    assert found["maxPods"] == 110
    assert found["failCgroupV1"] is False
    assert found["authorization"] == {"mode": "Webhook"}


def test_containerd_keeps_its_mounts_where_they_can_be_found() -> None:
    found = tomllib.loads(nodeconfig.containerd(FIRST, pathlib.Path("/plugins")))
    runtime = found["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["netns_mounts_under_state_dir"]
    assert runtime["cni"]["bin_dirs"] == ["/plugins"]
    assert found["state"].startswith("/run/ours/")


def test_images_are_kept_per_version_of_containerd() -> None:
    assert FIRST.store.is_relative_to(AT.images)
    assert "containerd-" in FIRST.store.parent.name


def test_pods_are_routed() -> None:
    found = json.loads(nodeconfig.conflist(SECOND))
    (plugin,) = found["plugins"]
    assert plugin["type"] == "ptp"
    assert plugin["ipam"]["ranges"] == [[{"subnet": "10.188.1.0/24", "gateway": "10.188.1.1"}]]


def test_components_have_ports_of_their_own() -> None:
    lines = [controlplane.etcd(AT), controlplane.apiserver(AT), controlplane.scheduler(AT)]
    text = " ".join(itertools.chain(*lines, controlplane.controllers(AT)))
    assert not [port for port in (":2379", ":2380", "=6443", "=10257") if port in text]


@pytest.mark.parametrize(
    ("resolver", "forwards"),
    [
        pytest.param("nameserver 10.0.0.1\n", True, id="a server"),
        pytest.param("# nameserver 10.0.0.1\nsearch x\n", False, id="none"),
        pytest.param("", False, id="empty"),
    ],
)
def test_other_names_go_to_the_hosts_servers(resolver: str, forwards: bool) -> None:
    assert ("forward" in dns.corefile(AT, resolver)) is forwards


@pytest.mark.parametrize(
    ("routes", "found"),
    [
        pytest.param(["default", "192.0.2.0/24"], None, id="a usual machine"),
        pytest.param(["10.0.0.0/8"], "10.0.0.0/8", id="a company's network"),
        pytest.param(["10.188.3.4"], "10.188.3.4", id="one address"),
    ],
)
def test_overlap(routes: list[str], found: str | None) -> None:
    assert network.overlap(routes) == found
