"""Compiles the engine on first use, and keeps it: per user, by its sources, its compiler and its ns-3."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent / "engine"
OLDEST = (3, 37)
NEWEST = (3, 49)
"""Versions of ns-3 between which the engine is known, or expected, to compile."""

CXX20_FROM = (3, 42)
"""ns-3's headers need C++20 from here on."""

INSTALL = "run setup/install.sh --packets"
_NS3_HEADER = Path("/usr/include/ns3/tcp-socket-base.h")


class NotInstalled(RuntimeError):
    """Something that the packet simulator needs is not on this machine."""


def engine(target: str = "engine") -> Path:
    """The compiled engine (or ``unit-tests``), compiled now if it is not yet.

    Raises NotInstalled with what to install; RuntimeError when it does not compile.
    """
    folder = _folder() / _stamp()
    program = folder / target
    if program.exists():
        return program
    _private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two processes may ask at once
        if not program.exists():
            _compile(folder, target)
    return program


def _compile(folder: Path, target: str) -> None:
    """Objects are kept, for the other program and for another try; a program appears when it is whole."""
    objects = folder / "objects"
    goal = "engine" if target == "engine" else "tests"
    command = ["make", "--silent", "-C", str(SOURCES), f"-j{_jobs()}", f"OUT={objects}", f"STD={_standard()}"]
    print(f"compiling the packet {target}, once: a minute or two", file=sys.stderr, flush=True)
    done = subprocess.run([*command, goal], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log = folder / "compile.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        raise RuntimeError(f"the packet engine does not compile with ns-3 {version()}; the log: {log}")
    os.replace(objects / target, folder / target)


@cache
def fingerprint() -> str:
    """What results depend on: the engine's sources, without comments and white space, and the version of ns-3."""
    digest = hashlib.sha256()
    for source in sorted([*SOURCES.glob("*.cc"), *SOURCES.glob("*.h")]):
        code = re.sub(r"/\*.*?\*/|//[^\n]*|\s+", "", source.read_text("utf-8"), flags=re.DOTALL)
        digest.update(source.name.encode() + code.encode())
    return f"{digest.hexdigest()[:16]}-ns-{version()}"


@cache
def version() -> str:
    """The version of ns-3 that is installed, such as 3.37.

    Raises NotInstalled when there is none, no compiler, or a version that the engine does not know.
    """
    for tool, package in (("g++", "a C++ compiler"), ("make", "make")):
        if shutil.which(tool) is None:
            raise NotInstalled(f"the packet simulator needs {package}: {INSTALL}")
    if not _NS3_HEADER.exists():
        raise NotInstalled(f"the packet simulator needs ns-3: {INSTALL}")
    found = _installed_version()
    number = tuple(int(part) for part in found.split(".")[:2])
    if not OLDEST <= number <= NEWEST:
        raise NotInstalled(
            f"the packet simulator needs ns-3 {known_versions()}, and found {found}: {INSTALL}"
        )
    return found


def known_versions() -> str:
    """The versions of ns-3 that will do, in words."""
    return f"{_dotted(OLDEST)} to {_dotted(NEWEST)}"


def _installed_version() -> str:
    """From the name of the library, which holds the version on every distribution: libns3.43-core.so and alike."""
    for folder in (*Path("/usr/lib").glob("*-linux-gnu*"), Path("/usr/lib64"), Path("/usr/lib")):
        for library in sorted(folder.glob("libns3*core*")):
            if match := re.search(r"libns(3\.\d+)-core|core.*\.so\.(\d+)", library.name):
                return match[1] or f"3.{match[2]}"
        for pkgconfig in folder.glob("pkgconfig/ns3-core.pc"):
            if match := re.search(r"^Version:\s*(\d+\.\d+)", pkgconfig.read_text("utf-8"), re.MULTILINE):
                return match[1]
    raise NotInstalled(f"the packet simulator needs ns-3's libraries, and found its headers only: {INSTALL}")


def _dotted(number: tuple[int, int]) -> str:
    return ".".join(str(part) for part in number)


def _standard() -> str:
    number = tuple(int(part) for part in version().split(".")[:2])
    return "c++20" if number >= CXX20_FROM else "c++17"


def _stamp() -> str:
    ns3 = version()  # first: it says what is missing
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256(compiler.encode())
    for source in sorted([*SOURCES.rglob("*.cc"), *SOURCES.rglob("*.h"), SOURCES / "Makefile"]):
        digest.update(source.name.encode() + source.read_bytes())
    return f"{ns3}-{digest.hexdigest()[:16]}"


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hedera" / "packets"


def _private(folder: Path) -> None:
    """Make the folder of programs; refuse one that somebody else could put a program into."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise RuntimeError(f"{folder} holds programs that are run, and others can write to it: remove it")


def _jobs() -> int:
    return len(os.sched_getaffinity(0))
