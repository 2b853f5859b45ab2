"""Packages of the distribution, fetched and unpacked by an ordinary user, with apt's signatures.

apt-get changes the system only to install packages; to find, check and download them it needs only a folder of its
own. ``options`` below are none for the machine's own lists of packages, or those of `list_options`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from record.errors import UnfitMachine
from virtual import cache

FETCH_S = 900.0
"""The time limit of one download, seconds: 160 MB at 1.5 Mb/s."""
_SIGNED = ("-oAcquire::AllowInsecureRepositories=false", "-oAPT::Get::AllowUnauthenticated=false")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders in older packages that are links into /usr on a merged system (Debian's usrmerge)."""


def list_options(suite: str = "") -> list[str]:
    """Options for new lists of our own: from the machine's sources, or of one suite of Debian, such as sid."""
    place = cache.make_folder("apt") / (suite or "machine")
    for name in ("lists/partial", "archives/partial"):
        (place / name).mkdir(parents=True, exist_ok=True)
    options = [
        f"-oDir::State::Lists={place}/lists",
        f"-oDir::Cache={place}",
        "-oAPT::Sandbox::User=root",  # otherwise root's apt becomes a user that cannot write there
        "-oAcquire::Languages=none",
    ]
    if suite:
        if not _KEYRING.exists():
            raise UnfitMachine("the keyring of Debian's archive is missing: apt-get install debian-archive-keyring")
        source = place / "suite.sources"
        where = f"URIs: http://deb.debian.org/debian\nSuites: {suite}\nComponents: main\nSigned-By: {_KEYRING}\n"
        source.write_text(f"Types: deb\n{where}")
        options += [f"-oDir::Etc::sourcelist={source}", "-oDir::Etc::sourceparts=/dev/null"]
    _run(["apt-get", "-qq", *_SIGNED, *options, "update"])
    return options


def find_missing(packages: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """The packages, of which something is missing even where apt has them installed, and those of their dependencies
    that are not installed, as ``NAME=VERSION``."""
    plan = _run(["apt-get", *_SIGNED, *options, "-s", "--no-install-recommends", "--reinstall", "install", *packages])
    upgrades = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", plan, re.MULTILINE)
    return [f"{name}={version}" for name, version in upgrades]


def download(packages: Sequence[str], folder: Path, options: Sequence[str] = ()) -> list[Path]:
    """Download the packages' files into an empty folder. Raises UnfitMachine with apt's message."""
    _run(["apt-get", "-qq", *_SIGNED, *options, "download", *packages], folder)
    return sorted(folder.glob("*.deb"))


def unpack(package: Path, folder: Path) -> None:
    _run(["dpkg-deb", "-x", str(package), str(folder)])


def _run(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True, timeout=FETCH_S
        )
    except subprocess.TimeoutExpired:
        raise UnfitMachine(f"{command[0]} took more than {FETCH_S:g} s") from None
    except OSError as error:
        raise UnfitMachine(f"{command[0]} does not run: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if line.startswith("E:")] or lines or ["no word"]
        raise UnfitMachine(f"{command[0]} says {errors[0].removeprefix('E: ')}")
    return done.stdout


def make_layer(packages: Sequence[str]) -> Path | None:
    """A folder with the packages and their dependencies that are not installed, unpacked once; None if nothing is
    missing.

    Raises UnfitMachine, with the command for an administrator, if apt cannot get them.
    """
    reasons = []
    for options in (list, list_options):  # the machine's own lists (no options) may be outdated, or not be there
        try:
            return _make_layer(packages, options())
        except UnfitMachine as reason:
            reasons.append(str(reason))
    names = " ".join(packages)
    why = "; with new lists ".join(reasons)
    raise UnfitMachine(f"{names} missing, and cannot be fetched without root ({why}): apt-get install {names}")


def _make_layer(packages: Sequence[str], options: Sequence[str]) -> Path | None:
    wanted = find_missing(packages, options)
    if not wanted:
        return None
    layers = cache.make_folder("layers")
    whole = layers / hashlib.sha256(" ".join(sorted(wanted)).encode()).hexdigest()[:16]
    with cache.locked(layers / "lock"):
        if not whole.exists():
            with tempfile.TemporaryDirectory(prefix="half.", dir=layers) as half:
                fetched, unpacked = Path(half, "fetched"), Path(half, "unpacked")
                fetched.mkdir()
                unpacked.mkdir()
                for package in download(wanted, fetched, options):
                    unpack(package, unpacked)
                merge(unpacked, Path("/"))
                _link_alternatives(unpacked)
                unpacked.chmod(0o755)
                unpacked.rename(whole)
    return whole


def merge(unpacked: Path, system: Path) -> None:
    """Move an unpacked package's files in /bin and the like to the targets of the system's links of that name.

    A folder in the upper layer would hide the link below it, and so all of the system's programs.
    """
    for name in _MERGED:
        folder, link = unpacked / name, system / name
        if not folder.is_dir() or folder.is_symlink() or not link.is_symlink():
            continue
        target = unpacked / os.path.relpath(link.resolve(), system.resolve())
        shutil.copytree(folder, target, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(folder)


def _link_alternatives(unpacked: Path) -> None:
    """Make the links that a package's own script would have made: ovs-vswitchd and iptables are among Debian's
    alternatives."""
    for program in unpacked.glob("usr/lib/openvswitch-*/ovs-vswitchd"):
        link = unpacked / "usr/sbin/ovs-vswitchd"
        link.parent.mkdir(exist_ok=True)
        if not os.path.lexists(link):
            link.symlink_to(os.path.relpath(program, link.parent))
    many = unpacked / "usr/sbin/xtables-nft-multi"
    for name in _XTABLES if many.exists() else ():
        link = many.with_name(name)
        if not os.path.lexists(link):
            link.symlink_to(many.name)


_XTABLES = tuple(f"{name}{suffix}" for name in ("iptables", "ip6tables") for suffix in ("", "-save", "-restore"))
