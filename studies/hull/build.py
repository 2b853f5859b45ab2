"""Compiles the engine on first use and keeps it in the user's cache, by sources, compiler and version of ns-3."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from record.output import quiet

SOURCES = Path(__file__).parent / "engine"
OLDEST = (3, 37)
NEWEST = (3, 49)
"""Versions of ns-3 between which the engine is known, or expected, to compile."""

CXX20_FROM = (3, 42)
"""ns-3's headers need C++20 from here on."""

INSTALL = "run setup/install.sh --packets"
LIBRARIES = Path("/usr/lib")
UNUSED_S = 30 * 86400
"""After so long an engine of other sources, compilers or versions of ns-3 is removed."""
_NS3_HEADER = Path("/usr/include/ns3/tcp-socket-base.h")


class NotInstalled(RuntimeError):
    """Something that the packet simulator needs is not on this machine."""


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hedera" / "packets"


def engine(target: str = "engine") -> Path:
    """The compiled engine (or ``unit-tests``), compiled now if needed.

    Raises NotInstalled with what to install; RuntimeError, one sentence, when it does not compile or cannot be kept.
    """
    folder = cache_folder() / _stamp()
    program = folder / target
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(folder)
        if not program.exists():
            with (folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # two processes may ask at once
                if not program.exists():
                    _compile(folder, target)
            _remove_old(folder.parent)
    except OSError as error:
        raise RuntimeError(f"the packet engine cannot be compiled into {folder}: {error.strerror}") from None
    return program


def _remove_old(kept: Path) -> None:
    for place in kept.iterdir():
        if place.stat().st_mtime < time.time() - UNUSED_S:
            shutil.rmtree(place, ignore_errors=True)


def _compile(folder: Path, target: str) -> None:
    """Compile a program, which appears only when complete. Object files are kept for the other one."""
    objects = folder / "objects"
    standard = "c++20" if _number(version()) >= CXX20_FROM else "c++17"
    if not quiet():
        print(f"compiling the packet {target}, once: a minute or two", file=sys.stderr, flush=True)
    done = subprocess.run(
        [
            *("make", "--silent", "-C", str(SOURCES), f"-j{len(os.sched_getaffinity(0))}"),
            *(f"OUT={objects}", f"STD={standard}", "CXX=g++", "engine" if target == "engine" else "tests"),
        ],
        env={name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        log = folder / "compile.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        raise RuntimeError(f"the packet engine does not compile with ns-3 {version()}; the log: {log}")
    os.replace(objects / target, folder / target)


@cache
def _sources() -> dict[str, bytes]:
    """The sources by name, read once per process."""
    parts = [path for path in SOURCES.rglob("*") if path.suffix in (".cc", ".h") or path.name == "Makefile"]
    return {str(path.relative_to(SOURCES)): path.read_bytes() for path in sorted(parts)}


@cache
def fingerprint() -> str:
    """What results depend on: the engine's sources, without comments and white space, and the version of ns-3."""
    digest = hashlib.sha256()
    for name, source in _sources().items():
        if "/" not in name and name != "Makefile":
            code = re.sub(r"/\*.*?\*/|//[^\n]*|\s+", "", source.decode(), flags=re.DOTALL)
            digest.update(name.encode() + code.encode())
    return f"{digest.hexdigest()[:16]}-ns-{version()}"


@cache
def _stamp() -> str:
    """A hash of everything a program is made from: sources, compiler, ns-3's installed libraries, tcmalloc."""
    ns3 = version()  # first: it says what is missing
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    libraries = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for name in ("libns3*.so", "libtcmalloc_minimal.so")
        for path in sorted([*LIBRARIES.glob(name), *LIBRARIES.glob(f"*/{name}")])
    ]
    digest = hashlib.sha256(repr((compiler, platform.machine(), libraries, _sources())).encode())
    return f"{ns3}-{digest.hexdigest()[:16]}"


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
    if not OLDEST <= _number(found) <= NEWEST:
        raise NotInstalled(f"the packet simulator needs ns-3 {known_versions()}, and found {found}: {INSTALL}")
    return found


def known_versions() -> str:
    """The usable versions of ns-3, as text."""
    return " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))


def _installed_version() -> str:
    """The version in the library's name, where every distribution has it: libns3.43-core.so and the like."""
    for folder in (*LIBRARIES.glob("*-linux-gnu*"), Path("/usr/lib64"), LIBRARIES):
        for library in sorted(folder.glob("libns3*core*")):
            if match := re.search(r"libns(3\.\d+)-core|core.*\.so\.(\d+)", library.name):
                return match[1] or f"3.{match[2]}"
        for pkgconfig in folder.glob("pkgconfig/ns3-core.pc"):
            if match := re.search(r"^Version:\s*(\d+\.\d+)", pkgconfig.read_text("utf-8"), re.MULTILINE):
                return match[1]
    raise NotInstalled(f"the packet simulator needs ns-3's libraries, and found its headers only: {INSTALL}")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
