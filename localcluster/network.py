"""The nodes' networks: one address for the host's node, one namespace for the other.

Every pod hangs on a point-to-point link, so all traffic between pods is routed
and passes the kernel's connection tracking: services work between pods of one
node without any bridge setting of the host. The pods reach other networks through
a table of our own, which also keeps other machines away from the API server.
"""

import ipaddress
import json
import pathlib
from collections.abc import Iterable
from typing import Final

from localcluster import errors, places
from localcluster.progress import quick

NETWORKS: Final = (places.PODS, places.SERVICES, places.LINK)

RULES: Final = f"""
table inet {places.TABLE} {{
  set inside {{
    type ipv4_addr; flags interval
    elements = {{ 127.0.0.0/8, {", ".join(NETWORKS)} }}
  }}
  chain guard {{
    type filter hook input priority -10; policy accept;
    iifname != "lo" ip saddr != @inside tcp dport {places.API_PORT} drop
    iifname != "lo" ip6 saddr ::/0 tcp dport {places.API_PORT} drop
  }}
  chain outward {{
    type nat hook postrouting priority 110; policy accept;
    ip saddr {places.PODS} ip daddr != @inside masquerade
  }}
}}
"""


def check() -> None:
    """See that no network of this machine overlaps with ours."""
    routes = json.loads(quick(["ip", "-json", "-4", "route", "show", "table", "main"]))
    if found := overlap(route["dst"] for route in routes):
        raise errors.ClusterError(
            f"this machine has a route to {found}, which the local cluster uses itself "
            f"({', '.join(NETWORKS)}); take it away, or use CLUSTER=kind"
        )


def overlap(destinations: Iterable[str]) -> str | None:
    """The first destination of a routing table that overlaps with a network of ours."""
    ours = [ipaddress.ip_network(network) for network in NETWORKS]
    for text in destinations:
        if text != "default" and any(map(ipaddress.ip_network(text).overlaps, ours)):
            return text
    return None


def up() -> None:
    """The host's part: the first node's address, forwarding, and our own table."""
    quick(["ip", "link", "add", places.BRIDGE, "type", "bridge"])
    quick(["ip", "address", "add", f"{places.GATEWAY}/24", "dev", places.BRIDGE])
    quick(["ip", "link", "set", places.BRIDGE, "up"])
    quick(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
    quick(["nft", "-f", "-"], RULES)


def add(node: places.Node) -> None:
    """The network of a node that has a namespace of its own."""
    if node.namespace is None:
        return
    node.namespace.parent.mkdir(parents=True, exist_ok=True)
    node.namespace.touch()
    quick(["unshare", f"--net={node.namespace}", "true"])
    _wire(node.namespace)
    inside = node.prefix
    quick([*inside, "ip", "address", "add", f"{node.address}/24", "dev", "eth0"])
    quick([*inside, "ip", "link", "set", "eth0", "up"])
    quick([*inside, "ip", "link", "set", "lo", "up"])
    quick([*inside, "ip", "route", "add", "default", "via", places.LINK_HOST])
    quick([*inside, "sysctl", "-qw", "net.ipv4.ip_forward=1"])
    quick(["ip", "route", "add", node.pods, "via", node.address])


def _wire(namespace: pathlib.Path) -> None:
    pair = ["ip", "link", "add", places.VETH, "type", "veth", "peer", "name", "eth0"]
    quick([*pair, "netns", str(namespace)])
    quick(["ip", "address", "add", f"{places.LINK_HOST}/24", "dev", places.VETH])
    quick(["ip", "link", "set", places.VETH, "up"])
