"""Packages of the distribution, fetched and unpacked by an ordinary user, with apt's signatures.

apt-get changes the system only to install packages; to find, check and download them it needs only a folder of its
own. ``options`` below are none for the machine's own lists of packages, or those of `lists`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from virtual import cache
from virtual.errors import Unavailable

FETCH_S = 900.0
"""The time limit of one download, seconds: 160 MB at 1.5 Mb/s."""
_SIGNED = ("-oAcquire::AllowInsecureRepositories=false", "-oAPT::Get::AllowUnauthenticated=false")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def available() -> None:
    """Raise Unavailable if there is no apt."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is missing: packages come from Debian or Ubuntu")


def lists(suite: str = "") -> list[str]:
    """Options for new lists of our own: from the machine's sources, or of one suite of Debian, such as sid."""
    place = cache.folder("apt") / (suite or "machine")
    for name in ("lists/partial", "archives/partial"):
        (place / name).mkdir(parents=True, exist_ok=True)
    options = [
        f"-oDir::State::Lists={place}/lists",
        f"-oDir::Cache={place}",
        f"-oDir::Cache::Archives={place}/archives",
        "-oAPT::Sandbox::User=root",  # otherwise root's apt becomes a user that cannot write there
        "-oAcquire::Languages=none",
    ]
    if suite:
        if not _KEYRING.exists():
            raise Unavailable("the keyring of Debian's archive is missing: apt-get install debian-archive-keyring")
        source = place / "suite.sources"
        where = f"URIs: http://deb.debian.org/debian\nSuites: {suite}\nComponents: main\nSigned-By: {_KEYRING}\n"
        source.write_text(f"Types: deb\n{where}")
        options += [f"-oDir::Etc::sourcelist={source}", "-oDir::Etc::sourceparts=/dev/null"]
    _run(["apt-get", "-qq", *_SIGNED, *options, "update"])
    return options


def missing_with(packages: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Those of the packages and their dependencies that are not installed, as ``NAME=VERSION``."""
    told = _run(["apt-get", *_SIGNED, *options, "-s", "--no-install-recommends", "install", *packages])
    found = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", told, re.MULTILINE)
    return [f"{name}={version}" for name, version in found]


def download(packages: Sequence[str], folder: Path, options: Sequence[str] = ()) -> list[Path]:
    """Download the packages' files into an empty folder. Raises Unavailable with apt's message."""
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
        raise Unavailable(f"{command[0]} took more than {FETCH_S:g} s") from None
    except OSError as error:
        raise Unavailable(f"{command[0]} does not run: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if line.startswith("E:")] or lines or ["no word"]
        raise Unavailable(f"{command[0]} says {errors[0].removeprefix('E: ')}")
    return done.stdout
