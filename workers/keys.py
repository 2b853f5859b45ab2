"""Keys of a cluster: who holds a copy of the folder is of the cluster, and nobody else is let in.

TLS in both directions: scheduler, workers and clients all show one certificate, which an authority of the cluster's
own signed. The authority's key is thrown away when that is done, so nobody can make more. Dask knows no roles, and a
Dask worker does whatever a client says; so one certificate for all says what is true.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

DAYS = 30
"""How long keys are good for, unless told: many times a sweep, and not for ever."""
CLOCKS_APART = timedelta(days=1)
"""By how much a machine's clock may be behind that of the one that made the keys."""
AUTHORITY, CERTIFICATE, KEY = "ca.pem", "cert.pem", "key.pem"
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, repr=False)
class Keys:
    """What a folder of keys holds, each in PEM: the authority's certificate, ours, and our private key."""

    authority: str
    certificate: str
    key: str


def make_keys(folder: Path, now: datetime, days: int = DAYS) -> None:
    """Write new keys into a new folder, readable by its owner alone. ``now`` has a time zone.

    Raises ValueError when the folder is there and not empty: keys are never overwritten.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty, and keys are never overwritten: name a new folder")
    folder.chmod(0o700)
    lifetime = (now - CLOCKS_APART, now + timedelta(days=days))
    root, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root_name, own_name = _name("hedera cluster authority"), _name("hedera cluster")
    root_id = x509.SubjectKeyIdentifier.from_public_key(root.public_key())
    authority = (
        _builder(root_name, root_name, root.public_key(), lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(root_id, critical=False)
        .sign(root, hashes.SHA256())
    )
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        _builder(own_name, root_name, own.public_key(), lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hedera-cluster")]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(root_id), critical=False
        )
        .sign(root, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    for name, content in (
        (AUTHORITY, authority.public_bytes(pem)),
        (CERTIFICATE, certificate.public_bytes(pem)),
        (KEY, private),
    ):
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)


def read_keys(folder: Path, now: datetime) -> Keys:
    """The keys of a folder. Raises ValueError, one sentence, when there are none, others can read them, or they have
    expired."""
    from cryptography import x509

    keys = Keys(*(_read(folder, name) for name in (AUTHORITY, CERTIFICATE, KEY)))
    certificate = x509.load_pem_x509_certificate(keys.certificate.encode())
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise ValueError(
            f"the keys in {folder} are good from {certificate.not_valid_before_utc:%Y-%m-%d} to "
            f"{certificate.not_valid_after_utc:%Y-%m-%d}, and today is {now:%Y-%m-%d}: make new ones with "
            "hedera cluster keys, and copy them to every machine"
        )
    return keys


def _read(folder: Path, name: str) -> str:
    path = folder / name
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            text = file.read(_MOST_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise ValueError(
            f"the cluster's keys are not in {folder} ({name}: {error.strerror}): make them with "
            f"hedera cluster keys, or name their folder with --keys"
        ) from None
    if name == KEY and (stat.S_IMODE(found.st_mode) & 0o077):
        raise ValueError(f"{path} can be read by others than its owner: chmod 600 it")
    if "-----BEGIN" not in text:
        raise ValueError(f"{path} is no PEM file")
    return text


def _name(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    lifetime: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(lifetime[0])
        .not_valid_after(lifetime[1])
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
