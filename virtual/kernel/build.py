"""The kernel of virtual time, compiled: from the source of the one that is shipped, or from another.

Two compilations of one source by the same compiler, linker and C library give the same file, byte for byte, wherever
they take place.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from virtual import cache
from virtual.errors import Unavailable
from virtual.kernel import source
from virtual.kernel.changes import (
    CHANGES,
    CONFIG,
    FIXED,
    FLAGS,
    FLOATING_POINT,
    FLOATING_POINT_CONFIG,
    FLOATING_POINT_SINCE,
    ours,
)
from virtual.kernel.shipped import MANIFEST, NAMED, SHIPPED, Kernel, Say, keep, manifest, sha256

OBJECTS = 650
"""About how many files are compiled, for the progress."""
TOOLS = {"gcc": "gcc", "ld": "binutils", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
"""Programs that unpack and compile a source, and their packages."""
XZ = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def build(say: Say, *, ship: bool = False) -> Kernel:
    """Compile and test a kernel, from the source that is asked for; it is kept in this user's cache.

    Guests use it if HEDERA_KERNEL_SOURCE asks for it. ``ship``: write it where the shipped one lies.
    Raises Unavailable when it fails.
    """
    content, facts = compiled(say)
    named = bool(os.environ.get(NAMED)) and not ship
    found = keep(content, facts["release"], facts["package"], say, use=named)
    if ship:
        SHIPPED.write_bytes(packed(content))
        MANIFEST.write_text(json.dumps(described(content, facts), indent=1) + "\n", encoding="utf-8")
    return found


def differences(say: Say) -> list[str]:
    """Compile the shipped kernel again; what differs from it, in sentences. None: it is the same, byte for byte."""
    shipped = manifest()
    wrong = sha256(SHIPPED.read_bytes()) != shipped["xz_sha256"]
    return [f"{SHIPPED.name} is not the file that {MANIFEST.name} names"] * wrong + [
        f"{name}: shipped {shipped.get(name)!r}, here {value!r}"
        for name, value in described(*compiled(say)).items()
        if shipped.get(name) != value and name != "package"
    ]


def packed(content: bytes) -> bytes:
    """A kernel as it is shipped; the same bytes every time."""
    return lzma.compress(content, check=lzma.CHECK_SHA256, filters=XZ)


def described(content: bytes, facts: dict[str, str]) -> dict[str, str]:
    """What is said of a kernel where it is shipped: what its bytes depend on, and their hashes."""
    return {**facts, "sha256": sha256(content), "xz_sha256": sha256(packed(content))}


def compiled(say: Say) -> tuple[bytes, dict[str, str]]:
    """Get the source, change it, and compile it: the kernel, and what its bytes depend on."""
    facts = tools()
    kernels = cache.folder("kernels")
    with cache.locked(kernels / "building", lambda: say("another one is being compiled; waiting for it")):
        for left in kernels.glob("building.*"):  # of a killed process: nobody else compiles while we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building.", dir=kernels) as name:
            tree, facts["package"], facts["source_sha256"] = source.lay(Path(name), say)
            facts["release"] = ".".join(map(str, source.version(tree)))
            facts["changes_sha256"] = ours()
            change(tree)
            linux = _compile(tree, Path(name, "build"), kernels / "build.log", say)
            _run(["strip", "--strip-all", str(linux)])
            return linux.read_bytes(), facts


def tools() -> dict[str, str]:
    """The versions of what makes a kernel's bytes. Raises Unavailable with the packages that are missing."""
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    library = "gcc" not in missing and _run(["gcc", "-print-file-name=libc.a"]).strip()
    if not os.path.isabs(library or ""):
        missing.append("libc6-dev")
    if missing:
        raise Unavailable(f"a kernel is compiled with packages that are missing: apt-get install {' '.join(missing)}")
    said = {"compiler": ["gcc", "--version"], "linker": ["ld", "--version"], "libc": ["ldd", "--version"]}
    return {name: _run(command).splitlines()[0] for name, command in said.items()}


def change(tree: Path) -> None:
    """Make our changes in a source. Raises Unavailable if they do not fit it."""
    for name, expression, other in (*CHANGES, *(FLOATING_POINT if source.version(tree) < FLOATING_POINT_SINCE else ())):
        path = tree / name
        after, count = re.subn(expression, other, path.read_text(encoding="utf-8"))
        if not count:
            raise Unavailable(f"our changes do not fit its {name}")
        path.write_text(after, encoding="utf-8")


def _compile(tree: Path, build: Path, log: Path, say: Say) -> Path:
    build.mkdir()
    config = build / "ours.config"
    text = CONFIG.read_text(encoding="utf-8")
    if source.version(tree) < FLOATING_POINT_SINCE:  # linked statically, 6.1.192 did not boot
        text = text.replace("CONFIG_STATIC_LINK=y\n", "") + FLOATING_POINT_CONFIG
    config.write_text(text, encoding="utf-8")
    make = ["make", "-C", str(tree), f"O={build}", "ARCH=um", "LOCALVERSION=", f"KCONFIG_ALLCONFIG={config}"]
    _make([*make, "-s", "allnoconfig"], log, say)
    flags = f"{FLAGS} -ffile-prefix-map={tree}=. -ffile-prefix-map={build}=."
    _make([*make, f"-j{len(os.sched_getaffinity(0))}", f"KCFLAGS={flags}", "linux"], log, say)
    return build / "linux"


def _make(command: list[str], log: Path, say: Say) -> None:
    compiled = 0
    with (
        log.open("w", encoding="utf-8", buffering=1) as told,
        subprocess.Popen(
            command, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        ) as process,
    ):  # fmt: skip
        try:
            for line in process.stdout or ():
                told.write(line)
                compiled += bool(re.match(r"  (CC|AS|HOSTCC)\b", line))
                if line.startswith("  CC") and compiled % (OBJECTS // 10) == 0:
                    say(f"compiling, {100 * compiled // OBJECTS} %")
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        found = re.search(r"\b(?:fatal )?error: .*|.*: (?:command )?not found", log.read_text(encoding="utf-8"))
        raise Unavailable(f"it does not compile ({found[0] if found else 'make failed'}); the log: {log}")


def _run(command: list[str]) -> str:
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return done.stdout


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | FIXED
