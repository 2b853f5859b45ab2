"""Packages of the distribution, fetched and unpacked by an ordinary user, with apt's signatures.

apt-get changes the system only to install packages; to find, check and download them it needs only a folder of its
own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from virtual import cache
from virtual.errors import Unavailable

FETCH_S = 900.0
"""The time limit of one download, seconds: 160 MB at 1.5 Mb/s."""
_SIGNED = ("-oAcquire::AllowInsecureRepositories=false", "-oAPT::Get::AllowUnauthenticated=false")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Apt:
    """apt with the machine's lists of packages, or (``options``) with lists of our own."""

    options: tuple[str, ...] = ()

    def download(self, packages: Sequence[str], folder: Path) -> list[Path]:
        """Download the packages' files into an empty folder. Raises Unavailable with apt's message."""
        self._run("apt-get", "-qq", "download", *packages, folder=folder)
        return sorted(folder.glob("*.deb"))

    def missing_with(self, packages: Sequence[str]) -> list[str]:
        """Those of the packages and their dependencies that are not installed, as ``NAME=VERSION``."""
        told = self._run("apt-get", "-s", "--no-install-recommends", "install", *packages)
        found = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", told, re.MULTILINE)
        return [f"{name}={version}" for name, version in found]

    def _run(self, program: str, *arguments: str, folder: Path | None = None) -> str:
        return _run([program, *_SIGNED, *self.options, *arguments], folder)


def refreshed() -> Apt:
    """apt with new lists of our own, from the machine's sources."""
    return _with_lists(cache.folder("apt") / "machine")


def of_suite(suite: str) -> Apt:
    """apt with lists of one suite of Debian, such as sid, whatever this machine's sources are."""
    place = cache.folder("apt") / suite
    place.mkdir(exist_ok=True)
    if not _KEYRING.exists():
        raise Unavailable("the keyring of Debian's archive is missing: apt-get install debian-archive-keyring")
    sources = place / "suite.sources"
    sources.write_text(f"Types: deb\nURIs: {_mirror()}\nSuites: {suite}\nComponents: main\nSigned-By: {_KEYRING}\n")
    return _with_lists(place, f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=/dev/null")


def _with_lists(place: Path, *sources: str) -> Apt:
    for name in ("lists/partial", "archives/partial"):
        (place / name).mkdir(parents=True, exist_ok=True)
    options = [
        f"-oDir::State::Lists={place}/lists",
        f"-oDir::Cache={place}",
        f"-oDir::Cache::Archives={place}/archives",
        "-oAPT::Sandbox::User=root",  # otherwise root's apt becomes a user that cannot write there
        "-oAcquire::Languages=none",
        *sources,
    ]
    apt = Apt(tuple(options))
    apt._run("apt-get", "-qq", "update")
    return apt


def available() -> None:
    """Raise Unavailable if there is no apt."""
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is missing: packages come from Debian or Ubuntu")


def unpack(package: Path, folder: Path) -> None:
    """Unpack one package's file."""
    _run(["dpkg-deb", "-x", str(package), str(folder)])


def _mirror() -> str:
    """The server from which this machine's apt gets Debian's packages, if it does."""
    told = _run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages"])
    for line in told.splitlines():
        address, _, origin = line.partition(" ")
        if origin.strip() == "Debian" and "security" not in address:
            return address
    return "http://deb.debian.org/debian"


def _run(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=FETCH_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took more than {FETCH_S:g} s") from None
    except OSError as error:
        raise Unavailable(f"{command[0]} does not run: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if line.startswith("E:")] or lines or ["no word"]
        raise Unavailable(f"{command[0]} says {errors[0].removeprefix('E: ')}")
    return done.stdout
