"""Compiles the engine on first use and caches it, per user, by sources, compiler and version of ns-3."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from files.private import private_folder
from results.output import quiet

SOURCES = Path(__file__).parent / "engine"
OLDEST = (3, 37)
NEWEST = (3, 49)
"""Versions of ns-3 between which the engine is known, or expected, to compile."""

CXX20_FROM = (3, 42)
"""ns-3's headers need C++20 from here on."""

INSTALL = "run setup/install.sh --packets"
LIBRARIES = Path("/usr/lib")
_NS3_HEADER = Path("/usr/include/ns3/tcp-socket-base.h")


class NotInstalled(RuntimeError):
    """Something that the packet simulator needs is not on this machine."""


def engine(target: str = "engine") -> Path:
    """The compiled engine (or ``unit-tests``), compiled now if needed. It is not removed while this process lives.

    Raises NotInstalled with what to install; RuntimeError, one sentence, when it does not compile or cannot be kept.
    """
    stamp = _stamp()
    kept = private_folder("packets")
    program = kept / stamp / target
    try:
        _hold(kept / stamp)
        if not program.exists():
            _remove_old(kept)
            with (kept / stamp / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # two processes may ask at once
                if not program.exists():
                    _compile(kept / stamp, target)
    except OSError as error:
        raise RuntimeError(f"the packet engine cannot be compiled into {kept}: {error.strerror}") from None
    return program


_held: dict[Path, int] = {}
"""Descriptors, by folder. Not file objects: Python would warn at the end of the process that nobody closed them."""

KEPT = 4
"""How many engines (of different sources, compilers or versions of ns-3) are kept: the last used ones."""


def _hold(folder: Path) -> None:
    """Create the folder if needed, and keep other processes from removing it as long as this one lives."""
    while folder not in _held:
        folder.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # it is being removed
            used = os.open(folder / "used", os.O_WRONLY | os.O_CREAT, 0o666)
            try:
                fcntl.flock(used, fcntl.LOCK_SH)
                if os.path.samestat(os.fstat(used), (folder / "used").stat()):
                    os.utime(folder)
                    _held[folder] = used
            finally:
                if folder not in _held:
                    os.close(used)


def _remove_old(kept: Path) -> None:
    """Remove all engines except the KEPT last used ones, and those that a process may still run."""
    ours = sorted((p for p in kept.iterdir() if _OURS.fullmatch(p.name)), key=lambda p: p.stat().st_mtime)
    for place in ours[:-KEPT]:
        with suppress(OSError), (place / "used").open("a") as used:
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place)


def _compile(folder: Path, target: str) -> None:
    """Compile a program. Object files are kept for the other program or another try; a program appears only when
    complete."""
    objects = folder / "objects"
    goal = "engine" if target == "engine" else "tests"
    settings = [f"OUT={objects}", f"STD={_standard()}", "CXX=g++"]
    if not quiet():
        print(f"compiling the packet {target}, once: a minute or two", file=sys.stderr, flush=True)
    done = subprocess.run(
        ["make", "--silent", "-C", str(SOURCES), f"-j{_jobs()}", *settings, goal],
        env={name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        log = folder / "compile.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        raise RuntimeError(f"the packet engine does not compile with ns-3 {version()}; the log: {log}")
    if _read_sources() != _sources():
        shutil.rmtree(objects)
        raise RuntimeError("the packet engine's sources changed since this process began: start it again")
    os.replace(objects / target, folder / target)


def _read_sources() -> dict[str, bytes]:
    parts = [path for path in SOURCES.rglob("*") if path.suffix in (".cc", ".h") or path.name == "Makefile"]
    return {str(path.relative_to(SOURCES)): path.read_bytes() for path in sorted(parts)}


@cache
def _sources() -> dict[str, bytes]:
    """The sources by name, read only once per process, so that a program and its fingerprint match."""
    return _read_sources()


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
        raise NotInstalled(f"the packet simulator needs ns-3 {known_versions()}, and found {found}: {INSTALL}")
    return found


def known_versions() -> str:
    """The usable versions of ns-3, as text."""
    return f"{_dotted(OLDEST)} to {_dotted(NEWEST)}"


def _installed_version() -> str:
    """The version in the library's name, where every distribution has it: libns3.43-core.so and the like."""
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
    sources = [(name, hashlib.sha256(content).hexdigest()) for name, content in _sources().items()]
    digest = hashlib.sha256(repr((compiler, platform.machine(), libraries, sources)).encode())
    return f"{ns3}-{digest.hexdigest()[:16]}"


_OURS = re.compile(r"\d\.\d+-[0-9a-f]{16}")


def _jobs() -> int:
    return len(os.sched_getaffinity(0))
