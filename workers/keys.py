"""Keys of a cluster: only those with a copy of the folder can connect to it.

TLS in both directions: scheduler, workers and clients all present one certificate, signed by the cluster's own
authority. The authority's key is deleted after that, so nobody can make more. Dask has no roles, and a Dask worker
does whatever a client asks, so separate certificates would protect nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

DAYS = 30
"""How long keys are valid by default, days: much longer than a sweep, but not forever."""
CLOCKS_APART = timedelta(days=1)
"""How far a machine's clock may be behind that of the machine that made the keys."""
AUTHORITY, CERTIFICATE, KEY = "ca.pem", "cert.pem", "key.pem"
_MAX_BYTES = 1 << 16


@dataclass(frozen=True, repr=False)
class Keys:
    """The content of a folder of keys, each in PEM: the authority's certificate, ours, and our private key."""

    authority: str
    certificate: str
    key: str


def make_keys(folder: Path, now: datetime, days: int = DAYS) -> None:
    """Write new keys into a new folder, readable only by its owner. ``now`` has a time zone.

    Raises ValueError if the folder exists and is not empty, or is another user's: keys are never overwritten.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty, and keys are never overwritten: give a new folder")
    folder.chmod(0o700)
    _require_ours(folder, folder.lstat())
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
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(root_id), critical=False)
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
    """The keys of a folder, if folder and keys belong to us, root, or the user behind sudo. Raises ValueError, one
    sentence, if there are none, others can read or change them, they do not belong together, or have expired."""
    from cryptography import exceptions, x509
    from cryptography.hazmat.primitives import serialization

    with _opened(folder, os.O_DIRECTORY) as place:
        keys = Keys(*(_read(folder / name, place) for name in (AUTHORITY, CERTIFICATE, KEY)))
    try:
        authority, certificate = (
            x509.load_pem_x509_certificate(each.encode()) for each in (keys.authority, keys.certificate)
        )
        certificate.verify_directly_issued_by(authority)
        if serialization.load_pem_private_key(keys.key.encode(), None).public_key() != certificate.public_key():
            raise ValueError
    except (ValueError, TypeError, exceptions.InvalidSignature, exceptions.UnsupportedAlgorithm):
        raise ValueError(
            f"{folder} does not have {AUTHORITY}, {CERTIFICATE} and {KEY} of one cluster, complete: copy it again"
        ) from None
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise ValueError(
            f"the keys in {folder} are valid from {certificate.not_valid_before_utc:%Y-%m-%d} to "
            f"{certificate.not_valid_after_utc:%Y-%m-%d}, and today is {now:%Y-%m-%d}: make new ones with "
            "hedera cluster keys, and copy them to every machine"
        )
    return keys


def _read(path: Path, place: int) -> str:
    with _opened(path, os.O_NOFOLLOW, place) as descriptor:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path} is no plain file")
        if path.name == KEY and found.st_mode & 0o077:
            raise ValueError(f"{path} can be read by others than its owner: chmod 600 it")
        return os.read(descriptor, _MAX_BYTES).decode("ascii", "replace")


@contextmanager
def _opened(path: Path, flags: int, place: int | None = None) -> Iterator[int]:
    """A descriptor of ``path``, a folder or a file in the open folder ``place``; does not wait at a pipe."""
    try:
        descriptor = os.open(path if place is None else path.name, os.O_RDONLY | os.O_NONBLOCK | flags, dir_fd=place)
    except OSError as error:
        folder, why = (path, "") if place is None else (path.parent, f"{path.name}: ")
        raise ValueError(
            f"the cluster's keys are not in {folder} ({why}{error.strerror}): make them with hedera cluster keys, or "
            "name their folder with --keys"
        ) from None
    try:
        _require_ours(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _require_ours(path: Path, found: os.stat_result) -> None:
    """Raise ValueError if another user could have put keys there: with forged keys that user would become root."""
    behind_sudo = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    if found.st_uid not in (0, os.geteuid(), int(behind_sudo) if behind_sudo.isdecimal() else 0):
        raise ValueError(f"{path} belongs to another user, who could replace the keys: make a copy of your own")
    if found.st_mode & 0o022:
        raise ValueError(f"{path} can be changed by others than its owner: chmod go-w it")


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
