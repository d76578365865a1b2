"""Names of services and pods: CoreDNS as a process of the host.

A pod whose name has just come into being must be found at once by its group, so
answers live five seconds and nothing is remembered about names that are missing.
"""

import pathlib
from typing import Any, Final

from localcluster import places

DOMAIN: Final = "cluster.local"
RESOLVER: Final = pathlib.Path("/etc/resolv.conf")

ROLE: Final[dict[str, Any]] = {
    "metadata": {"name": "trainingjobs:dns"},
    "rules": [
        {"apiGroups": [""], "resources": ["services", "namespaces"], "verbs": ["list", "watch"]},
        {
            "apiGroups": ["discovery.k8s.io"],
            "resources": ["endpointslices"],
            "verbs": ["list", "watch"],
        },
    ],
}
BINDING: Final[dict[str, Any]] = {
    "metadata": {"name": "trainingjobs:dns"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "trainingjobs:dns",
    },
    "subjects": [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "trainingjobs:dns"}
    ],
}
GROUP: Final = "/apis/rbac.authorization.k8s.io/v1"
GRANTS: Final = ((f"{GROUP}/clusterroles", ROLE), (f"{GROUP}/clusterrolebindings", BINDING))


def corefile(at: places.Places, resolver: str) -> str:
    """The configuration; other names go to the host's own name servers, if it has any."""
    upstream = f"    forward . {RESOLVER}\n" if has_server(resolver) else ""
    return f"""\
.:{places.DNS_PORT} {{
    bind {places.GATEWAY}
    errors
    kubernetes {DOMAIN} in-addr.arpa {{
        kubeconfig {at.pki / "dns.kubeconfig"}
        ttl 5
    }}
    cache 5 {{
        disable denial {DOMAIN}
    }}
{upstream}}}
"""


def has_server(resolver: str) -> bool:
    """Whether a resolv.conf names a server."""
    return any(line.split()[:1] == ["nameserver"] for line in resolver.splitlines())


def configure(at: places.Places) -> list[str]:
    """Write the configuration; the command line of the server."""
    resolver = RESOLVER.read_text() if RESOLVER.exists() else ""
    (at.state / "Corefile").write_text(corefile(at, resolver))
    (at.state / "resolv.conf").write_text(f"nameserver {places.GATEWAY}\n")
    return ["coredns", "-conf", str(at.state / "Corefile")]
