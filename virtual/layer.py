"""Packages that this machine lacks, unpacked into a folder that is laid over a guest's root."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from virtual import apt, cache
from virtual.errors import Unavailable

_MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders in older packages that are links into /usr on a merged system (Debian's usrmerge)."""


def layer(packages: Sequence[str]) -> Path | None:
    """A folder with the packages and their dependencies that are not installed, unpacked once; None if nothing is
    missing.

    Raises Unavailable, with the command for an administrator, if apt cannot get them.
    """
    try:
        apt.available()
        try:
            return _layer(packages, ())
        except Unavailable:
            return _layer(packages, apt.lists())  # the machine's own lists may be outdated, or not be there
    except Unavailable as reason:
        raise Unavailable(
            f"{' '.join(packages)} missing, and cannot be fetched without root ({reason}): "
            f"apt-get install {' '.join(packages)}"
        ) from None


def _layer(packages: Sequence[str], options: Sequence[str]) -> Path | None:
    wanted = apt.missing_with(packages, options)
    if not wanted:
        return None
    layers = cache.folder("layers")
    whole = layers / hashlib.sha256(" ".join(sorted(wanted)).encode()).hexdigest()[:16]
    with cache.locked(layers / "lock"):
        if not whole.exists():
            with tempfile.TemporaryDirectory(prefix="half.", dir=layers) as half:
                fetched, root = Path(half, "fetched"), Path(half, "root")
                fetched.mkdir()
                root.mkdir()
                for package in apt.download(wanted, fetched, options):
                    apt.unpack(package, root)
                merge(root, Path("/"))
                _alternatives(root)
                root.chmod(0o755)
                root.rename(whole)
    return whole


def merge(root: Path, system: Path) -> None:
    """Move an unpacked package's files in /bin and the like to the targets of the system's links of that name.

    A folder in the upper layer would hide the link below it, and so all of the system's programs.
    """
    for name in _MERGED:
        own, link = root / name, system / name
        if not own.is_dir() or own.is_symlink() or not link.is_symlink():
            continue
        target = root / os.path.relpath(link.resolve(), system.resolve())
        shutil.copytree(own, target, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(own)


def _alternatives(root: Path) -> None:
    """Make the links that a package's own script would have made: ovs-vswitchd is one of Debian's alternatives."""
    for program in root.glob("usr/lib/openvswitch-*/ovs-vswitchd"):
        link = root / "usr/sbin/ovs-vswitchd"
        link.parent.mkdir(exist_ok=True)
        if not os.path.lexists(link):
            link.symlink_to(os.path.relpath(program, link.parent))
