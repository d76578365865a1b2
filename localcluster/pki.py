"""Certificates of the embedded cluster.

Python 3.13 in a pod verifies strictly: a certificate authority without a key
usage, or a certificate without an authority key identifier, is refused. Both are
set here. A new authority is made for every start, since the cluster is new too.
"""

import dataclasses
import datetime as dt
import ipaddress
import pathlib
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

YEARS: Final = dt.timedelta(days=3650)
LEEWAY: Final = dt.timedelta(hours=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, both in PEM."""

    certificate: str
    key: str


@dataclasses.dataclass(frozen=True, slots=True)
class Authority:
    """What signs every certificate of one cluster."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pair(self) -> Pair:
        """The authority's own certificate and key."""
        return Pair(_pem(self.certificate), key_pem(self.key))

    def issue(self, user: str, group: str = "", names: Sequence[str] = ()) -> Pair:
        """A certificate for a user of a group, or for a server of those names."""
        key = new_key()
        builder = _certificate(_subject(user, group), self.certificate.subject, key)
        usages = [oid.ExtendedKeyUsageOID.SERVER_AUTH, oid.ExtendedKeyUsageOID.CLIENT_AUTH]
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(signer, critical=False)
        )
        if names:
            alternatives = x509.SubjectAlternativeName([_name(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        return Pair(_pem(builder.sign(self.key, hashes.SHA256())), key_pem(key))


def authority(name: str) -> Authority:
    """A new certificate authority."""
    key = new_key()
    subject = _subject(name, "")
    builder = (
        _certificate(subject, subject, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
    )
    return Authority(builder.sign(key, hashes.SHA256()), key)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new private key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key in PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def public_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """The public half of a key in PEM."""
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def write(folder: pathlib.Path, name: str, pair: Pair) -> None:
    """Write `name.crt` and `name.key`, the key for its owner only."""
    (folder / f"{name}.crt").write_text(pair.certificate)
    secret(folder / f"{name}.key", pair.key)


def secret(path: pathlib.Path, text: str) -> None:
    """Write a file that only its owner may read, from its first byte on."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LEEWAY)
        .not_valid_after(now + YEARS)
        .add_extension(identifier, critical=False)
    )


def _usage(**true: bool) -> x509.KeyUsage:
    every = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement "
        "key_cert_sign crl_sign encipher_only decipher_only"
    )
    return x509.KeyUsage(**{name: true.get(name, False) for name in every.split()})


def _subject(user: str, group: str) -> x509.Name:
    parts = [x509.NameAttribute(oid.NameOID.COMMON_NAME, user)]
    if group:
        parts.insert(0, x509.NameAttribute(oid.NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
