"""The control plane: etcd, the API server, the controllers, the scheduler.

Each function gives the command line of one component. The flags are the ones
whose defaults do not fit a cluster that lives beside others on one machine.
"""

from typing import Final

from localcluster import pki, places
from localcluster.kubeconfig import render

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
SERVER: Final = f"https://127.0.0.1:{places.API_PORT}"
NODE_SERVER: Final = f"https://{places.GATEWAY}:{places.API_PORT}"
SERVER_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    places.FIRST_SERVICE,
    places.GATEWAY,
)
USERS: Final = {
    "controllers": "system:kube-controller-manager",
    "scheduler": "system:kube-scheduler",
    "proxy": "system:kube-proxy",
    "dns": "trainingjobs:dns",
}


def credentials(at: places.Places, nodes: list[places.Node]) -> None:
    """Write all keys and certificates, and one kubeconfig per component."""
    at.pki.mkdir(parents=True, exist_ok=True, mode=0o700)
    ca = pki.authority("trainingjobs-local-ca")
    accounts = pki.new_key()
    pki.secret(at.pki / "sa.key", pki.key_pem(accounts))
    (at.pki / "sa.pub").write_text(pki.public_pem(accounts))
    pki.write(at.pki, "ca", ca.pair)
    pki.write(at.pki, "apiserver", ca.issue("kube-apiserver", names=SERVER_NAMES))
    admin = ca.issue("admin", "system:masters")
    pki.write(at.pki, "admin", admin)
    pki.secret(at.kubeconfig, render(SERVER, ca.pair.certificate, admin))
    for name, user in USERS.items():
        _kubeconfig(at, name, render(NODE_SERVER, ca.pair.certificate, ca.issue(user)))
    for node in nodes:
        pair = ca.issue(f"system:node:{node.name}", "system:nodes", (node.name, node.address))
        pki.write(at.pki, node.name, pair)
        _kubeconfig(at, node.name, render(NODE_SERVER, ca.pair.certificate, pair))


def _kubeconfig(at: places.Places, name: str, text: str) -> None:
    pki.secret(at.pki / f"{name}.kubeconfig", text)


def etcd(at: places.Places) -> list[str]:
    """Etcd without waiting for the disk: nothing of it outlives the cluster."""
    client = f"http://127.0.0.1:{places.ETCD_PORT}"
    peer = f"http://127.0.0.1:{places.ETCD_PEER_PORT}"
    return [
        "etcd",
        f"--data-dir={at.state / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(at: places.Places) -> list[str]:
    """The API server with the authorizers and admission plugins of a usual cluster."""
    return [
        "kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{places.ETCD_PORT}",
        f"--secure-port={places.API_PORT}",
        "--bind-address=0.0.0.0",
        f"--advertise-address={places.GATEWAY}",
        f"--tls-cert-file={at.pki / 'apiserver.crt'}",
        f"--tls-private-key-file={at.pki / 'apiserver.key'}",
        f"--client-ca-file={at.pki / 'ca.crt'}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={at.pki / 'sa.pub'}",
        f"--service-account-signing-key-file={at.pki / 'sa.key'}",
        f"--service-cluster-ip-range={places.SERVICES}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--kubelet-client-certificate={at.pki / 'admin.crt'}",
        f"--kubelet-client-key={at.pki / 'admin.key'}",
        f"--kubelet-certificate-authority={at.pki / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def controllers(at: places.Places) -> list[str]:
    """The controller manager, which also signs certificate requests."""
    return [
        "kube-controller-manager",
        f"--kubeconfig={at.pki / 'controllers.kubeconfig'}",
        f"--service-account-private-key-file={at.pki / 'sa.key'}",
        f"--root-ca-file={at.pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={at.pki / 'ca.crt'}",
        f"--cluster-signing-key-file={at.pki / 'ca.key'}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={places.CONTROLLERS_PORT}",
    ]


def scheduler(at: places.Places) -> list[str]:
    """The scheduler."""
    return [
        "kube-scheduler",
        f"--kubeconfig={at.pki / 'scheduler.kubeconfig'}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={places.SCHEDULER_PORT}",
    ]
