"""A kernel's source: Debian's package of the kernel that is shipped, or what HEDERA_KERNEL_SOURCE names."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from virtual import apt
from virtual.errors import Unavailable
from virtual.kernel import NAMED, Say

SUITE, PACKAGE, VERSION = "sid", "linux-source-7.2", "7.2.13-1"
"""What is shipped was made of. Debian keeps every version at snapshot.debian.org, when its suite has a newer one."""
_LEAVE_OUT = (
    *(f"*/drivers/{part}/*.[ch]" for part in ("gpu", "media", "net/ethernet", "net/wireless")),
    "*/sound/*.[ch]",
    "*/arch/[!ux]*/*.[chS]",
    "*.dts",
    "*.dtsi",
)
"""Two thirds of the source, of which User-Mode Linux needs only the configuration files."""


def lay(folder: Path, say: Say) -> tuple[Path, str, str]:
    """Unpack the source that is asked for into a folder: its tree, its name, and a hash of it.

    Raises Unavailable when it cannot be had.
    """
    if not (named := os.environ.get(NAMED)):
        return _lay_package(folder, say)
    path = Path(named).expanduser()
    say(f"unpacking {named}")
    if path.is_file():
        return _extract(path, folder), path.name, _hash_of(path)
    if not path.is_dir():
        raise Unavailable(f"{NAMED} names {named}, which does not exist")
    tree = folder / "tree"
    shutil.copytree(path, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    _require_linux(tree, str(path))
    return tree, path.name, _fingerprint(tree)


def _lay_package(folder: Path, say: Say) -> tuple[Path, str, str]:
    say(f"fetching {PACKAGE} {VERSION} of Debian {SUITE} (160 MB)")
    fetched = folder / "fetched"
    fetched.mkdir()
    try:
        [file] = apt.of_suite(SUITE).download([f"{PACKAGE}={VERSION}"], fetched)
    except Unavailable as reason:
        raise Unavailable(
            f"the source cannot be fetched ({reason}): get {PACKAGE} {VERSION} from snapshot.debian.org, "
            f"and set {NAMED} to the archive in it"
        ) from None
    say("unpacking it")
    apt.unpack(file, fetched)
    [archive] = (fetched / "usr/src").glob("linux-source-*.tar.xz")
    return _extract(archive, folder), f"{PACKAGE} {VERSION}", _hash_of(archive)


def _extract(archive: Path, folder: Path) -> Path:
    tree = folder / "tree"
    tree.mkdir()
    leave_out = [f"--exclude={pattern}" for pattern in _LEAVE_OUT]
    done = subprocess.run(
        ["tar", "-xf", str(archive), "-C", str(tree), "--strip-components=1", "--no-same-owner", *leave_out],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = done.stderr.strip().partition("\n")[0] or "no message"
        raise Unavailable(f"{archive.name} cannot be unpacked: {reason}")
    _require_linux(tree, archive.name)
    return tree


def _require_linux(tree: Path, name: str) -> None:
    if not (tree / "arch/um/Makefile").exists():
        raise Unavailable(f"{name} is not a Linux source")


def version(tree: Path) -> tuple[int, int, int]:
    """The version of a tree, such as (6, 12, 117)."""
    head = (tree / "Makefile").read_text(encoding="utf-8")[:1000]
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", head, re.MULTILINE))
    return int(found["VERSION"]), int(found["PATCHLEVEL"]), int(found["SUBLEVEL"])


def _hash_of(file: Path) -> str:
    with file.open("rb") as opened:
        digest = hashlib.sha256()
        while part := opened.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _fingerprint(tree: Path) -> str:
    """A hash of every file of a tree."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            digest.update(f"{path.relative_to(tree)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
