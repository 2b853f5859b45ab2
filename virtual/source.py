"""The kernel's source: the distribution's own package, or a tarball or tree that HEDERA_KERNEL_SOURCE names."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from virtual import apt
from virtual.errors import Unavailable

NAMED = "HEDERA_KERNEL_SOURCE"
_PACKAGES = r"^linux(-hwe-[0-9.]+)?-source-[0-9.]+$"
"""Debian's linux-source-6.12 and Ubuntu's linux-source-6.8.0, linux-hwe-6.14-source-6.14.0."""
_LEAVE_OUT = (
    *(f"*/drivers/{part}/*.[ch]" for part in ("gpu", "media", "net/ethernet", "net/wireless")),
    "*/sound/*.[ch]",
    "*/arch/[!ux]*/*.[chS]",
    "*.dts",
    "*.dtsi",
)
"""Two thirds of the source, of which User-Mode Linux needs only the configuration files."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """A source to try.

    ``lay`` unpacks its tree into an empty folder, with the programs of an environment, and returns the tree and a
    hash of the source.
    """

    name: str
    lay: Callable[[Path, Mapping[str, str]], tuple[Path, str]]


def candidates(suite: str, say: Say) -> Iterator[Source]:
    """The sources to try, the newest first; if the user named one, only that.

    ``suite``: take packages from this suite of the distribution, instead of the machine's own sources.
    Raises Unavailable when there is none.
    """
    if named := os.environ.get(NAMED):
        path = Path(named).expanduser()
        if not path.exists():
            raise Unavailable(f"{NAMED} names {named}, which does not exist")
        yield Source(named, lambda folder, programs: _lay_named(path, folder, programs))
        return
    apt.available()
    lists = apt.Apt()
    found = [] if suite else packages(lists)
    if not found:
        say(f"fetching the lists of packages{' of ' * bool(suite)}{suite}")
        lists = apt.refreshed(suite)
        found = packages(lists)
    if not found:
        raise Unavailable(
            f"this machine's package sources have no linux-source package: set {NAMED} to a kernel's source"
        )
    for package in found:
        yield Source(package, partial(_lay_package, lists, package))


def packages(lists: apt.Apt) -> list[str]:
    """The packages with a kernel's source, the newest first."""
    try:
        return sorted(lists.search(_PACKAGES), key=_version, reverse=True)
    except Unavailable:
        return []


def _version(package: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", package.rpartition("-")[2])]


def _lay_package(lists: apt.Apt, package: str, folder: Path, programs: Mapping[str, str]) -> tuple[Path, str]:
    fetched = folder / "fetched"
    fetched.mkdir()
    try:
        [file] = lists.download([package], fetched)
    except Unavailable:
        [file] = apt.refreshed().download([package], fetched)  # the machine's lists may be outdated
    apt.unpack(file, folder / "package")
    file.unlink()
    found = sorted((folder / "package").glob("usr/src/**/linux-*source-*.tar.*"))
    if not found:
        raise Unavailable(f"{package} has no archive of a kernel's source")
    laid = _extract(found[0], folder, programs)
    shutil.rmtree(folder / "package")
    return laid


def _lay_named(path: Path, folder: Path, programs: Mapping[str, str]) -> tuple[Path, str]:
    if path.is_file():
        return _extract(path, folder, programs)
    tree = folder / "tree"
    shutil.copytree(path, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    _require_linux(tree, str(path))
    return tree, fingerprint(tree)


def _extract(archive: Path, folder: Path, programs: Mapping[str, str]) -> tuple[Path, str]:
    tree = folder / "tree"
    tree.mkdir()
    leave_out = [f"--exclude={pattern}" for pattern in _LEAVE_OUT]
    done = subprocess.run(
        ["tar", "-xf", str(archive), "-C", str(tree), "--strip-components=1", "--no-same-owner", *leave_out],
        capture_output=True,
        text=True,
        check=False,
        env=programs,
    )
    if done.returncode:
        raise Unavailable(
            f"{archive.name} cannot be unpacked: {done.stderr.strip().partition(chr(10))[0] or 'no message'}"
        )
    _require_linux(tree, archive.name)
    return tree, hashlib.sha256(archive.read_bytes()).hexdigest()


def _require_linux(tree: Path, name: str) -> None:
    if not (tree / "arch/um/Makefile").exists():
        raise Unavailable(f"{name} is not a Linux source")


def version(tree: Path) -> str:
    """The version of a tree, such as 6.12.117."""
    head = (tree / "Makefile").read_text(encoding="utf-8")[:1000]
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", head, re.MULTILINE))
    return ".".join(found.get(part, "0") for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def fingerprint(tree: Path) -> str:
    """A hash of every file of a tree."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            digest.update(f"{path.relative_to(tree)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
