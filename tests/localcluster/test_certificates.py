"""Certificates that a strict client accepts, in a kubeconfig that needs no other file."""

import base64
import pathlib
import stat

import yaml
from cryptography import x509
from cryptography.x509 import oid

from localcluster import controlplane, kubeconfig, pki, places


def test_a_certificate_names_its_user_its_hosts_and_its_signer() -> None:
    ca = pki.authority("test")
    pair = ca.issue("system:node:node-0", "system:nodes", ["node-0", "10.188.0.1"])
    made = x509.load_pem_x509_certificate(pair.certificate.encode())
    made.verify_directly_issued_by(ca.certificate)
    assert made.subject.rfc4514_string() == "CN=system:node:node-0,O=system:nodes"
    hosts = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in hosts] == ["node-0", "10.188.0.1"]
    assert made.extensions.get_extension_for_oid(oid.ExtensionOID.AUTHORITY_KEY_IDENTIFIER)


def test_the_authority_may_sign_certificates() -> None:
    ca = pki.authority("test").certificate
    assert ca.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_kubeconfig_holds_all_that_it_needs() -> None:
    user = pki.Pair("certificate", "key")
    found = yaml.safe_load(kubeconfig.render("https://127.0.0.1:16443", "authority", user))
    cluster, credentials = found["clusters"][0]["cluster"], found["users"][0]["user"]
    assert cluster["server"] == "https://127.0.0.1:16443"
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"authority"
    assert base64.b64decode(credentials["client-key-data"]) == b"key"
    assert found["current-context"] == found["contexts"][0]["name"]


def test_keys_are_for_their_owner_only(tmp_path: pathlib.Path) -> None:
    at = places.Places(tmp_path, tmp_path / "run")
    controlplane.credentials(at, places.nodes(2, at))
    secrets = [*at.pki.glob("*.key"), *at.pki.glob("*.kubeconfig"), at.kubeconfig]
    assert len(secrets) > 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets} == {0o600}
