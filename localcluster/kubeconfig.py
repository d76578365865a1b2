"""A kubeconfig that needs no other file.

Certificates are inside it, so it can be copied, mounted or handed to another
user without the folder it was made in.
"""

import base64

import yaml

from localcluster import pki


def render(server: str, authority: str, user: pki.Pair, name: str = "trainingjobs") -> str:
    """The kubeconfig of one user of one cluster."""
    cluster = {"server": server, "certificate-authority-data": _data(authority)}
    credentials = {
        "client-certificate-data": _data(user.certificate),
        "client-key-data": _data(user.key),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": credentials}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return yaml.safe_dump(document, sort_keys=False)


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
