"""The order in which a cluster comes up.

On two cores the API server's first seconds are the longest wait, so the nodes'
containers are prepared meanwhile; the rest follows as soon as it can be served.
"""

import pathlib
from collections.abc import Sequence

from localcluster import (
    api,
    cgroups,
    cleanup,
    controlplane,
    dns,
    errors,
    gang,
    host,
    network,
    nodeconfig,
    packages,
    places,
    ports,
    processes,
    runtime,
)


def trouble(at: places.Places, wanted: int, *, gangs: bool = False) -> str:
    """Why the cluster is not up with so many nodes, and pod groups; empty when it is."""
    records = processes.read(at.records)
    if not records:
        return "nothing runs yet"
    if gone := [record.name for record in records if not processes.alive(record)]:
        return f"{', '.join(gone)} of an earlier start ended"
    seen = api.Api(at.pki).nodes()
    if not all(seen.values()) or not seen:
        return "its nodes are not ready"
    if len(seen) < wanted:
        return f"it has {len(seen)} node(s)"
    lacks = gangs and not api.Api(at.pki).serves(gang.API, gang.RESOURCE)
    return "it was started without GANG=1" if lacks else ""


def start(starter: processes.Starter, count: int, *, gangs: bool = False) -> None:
    """Bring up a cluster from nothing, after clearing away what is left of an earlier one."""
    at, nodes = starter.at, places.nodes(count, starter.at)
    _clear_ground(at, nodes)
    network.up()
    controlplane.credentials(at, nodes)
    etcd = starter.start("etcd", controlplane.etcd(at))
    argv = [*controlplane.apiserver(at), *gang.server(wanted=gangs)]
    server = starter.start("kube-apiserver", argv)
    homes = [nodeconfig.Home(at, node) for node in nodes]
    for home in homes:
        _containers(starter, home)
    seen = api.Api(at.pki)
    processes.wait([etcd, server], at, seen.ready)
    _control(starter, seen, gang.gates(wanted=gangs))
    for home in homes:
        _join(starter, home)
    _await(at, nodes)


def _clear_ground(at: places.Places, nodes: Sequence[places.Node]) -> None:
    cleanup.sweep(at)
    ports.check(ports.needed(nodes))
    network.check()
    if foreign := cleanup.tables() & set(cleanup.PROXY_TABLES):
        raise errors.ClusterError(
            f"this machine has the packet filter tables of another Kubernetes ({sorted(foreign)}); "
            "stop that one first, or use CLUSTER=kind"
        )
    for folder in (at.state, at.logs, at.run, at.images):
        folder.mkdir(parents=True, exist_ok=True)
    for log in at.logs.glob("*.log"):
        log.unlink()
    host.remember(at.note)


def _containers(starter: processes.Starter, home: nodeconfig.Home) -> None:
    network.add(home.node)
    cgroups.make(home.node)
    plugins = packages.plugins() or pathlib.Path(packages.PLUGIN_FOLDERS[0])
    runtime.start(starter, home, plugins)


def _control(starter: processes.Starter, seen: api.Api, gates: Sequence[str]) -> None:
    at = starter.at
    starter.start("kube-controller-manager", [*controlplane.controllers(at), *gates])
    starter.start("kube-scheduler", [*controlplane.scheduler(at), *gates])
    for path, manifest in dns.GRANTS:
        seen.create(path, manifest)
    starter.start("coredns", dns.configure(at))


def _join(starter: processes.Starter, home: nodeconfig.Home) -> None:
    (home.folder / "kubelet.yaml").write_text(nodeconfig.kubelet(home))
    name, prefix = home.node.name, home.node.prefix
    starter.start(f"{name}-kubelet", [*prefix, *nodeconfig.kubelet_command(home)])
    starter.start(f"{name}-kube-proxy", [*prefix, *nodeconfig.proxy_command(home)])


def _await(at: places.Places, nodes: Sequence[places.Node]) -> None:
    names, seen = {node.name for node in nodes}, api.Api(at.pki)

    def usable() -> bool:
        ready = {name for name, good in seen.nodes().items() if good}
        return ready >= names and seen.has_default_account()

    processes.wait(processes.read(at.records), at, usable)
