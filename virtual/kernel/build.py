"""The kernels of virtual time, compiled: from the source of the one that is shipped, Debian's package, or from the
archive that HEDERA_KERNEL_SOURCE names.

Two compilations of one source by the same compiler, linker and C library give the same file, byte for byte, wherever
they take place.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from record.errors import UnfitMachine
from virtual import apt, cache
from virtual.kernel import shipped
from virtual.kernel.shipped import NAMED, Kernel, Say, compute_sha256

SUITE, PACKAGE, VERSION = "sid", "linux-source-7.2", "7.2.13-1"
"""What is shipped was made of. Debian keeps every version at snapshot.debian.org, when its suite has a newer one."""
OLD = (6, 13)
"""Sources before this version get the patches of `before-6.13` besides, or in place of those of the same name, and
larger stacks, on which a process's floating-point state lies."""
_LEAVE_OUT = ("*/drivers/gpu/*.[ch]", "*/drivers/media/*.[ch]", "*/drivers/net/[ew]*/*.[ch]", "*/sound/*.[ch]")
"""More than half of the source, of which User-Mode Linux needs only the configuration files."""
TOOLS = {"gcc": "gcc", "ld": "binutils", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils",
         "patch": "patch"}  # fmt: skip
"""Programs that unpack and compile a source, and their packages."""
ABSENT = [f"{tool}=/nonexistent" for tool in ("RUSTC", "BINDGEN", "PAHOLE")]
"""Programs that a kernel without Rust and type information has no need of, and whose versions would be in its
configuration, which it contains."""
XZ = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def build(say: Say, kernel_name: str = shipped.RUNS, *, ship: bool = False) -> Kernel:
    """Compile and test one of the kernels, from the source that is asked for; it is kept in this user's cache.

    Guests use it if HEDERA_KERNEL_SOURCE asks for it. ``ship``: write it where the shipped one lies.
    Raises UnfitMachine when it fails.
    """
    content, facts = compile_kernel(say, kernel_name)
    named = kernel_name if os.environ.get(NAMED) and not ship else ""
    kept = shipped.keep(content, facts["release"], facts["package"], say, use=named)
    if ship:
        shipped.name_packed_file(kernel_name).write_bytes(pack(content))
        shipped.name_manifest_file(kernel_name).write_text(
            json.dumps(describe(content, facts), indent=1) + "\n", encoding="utf-8"
        )
    return kept


def find_differences(say: Say, kernel_name: str = shipped.RUNS) -> list[str]:
    """Compile a shipped kernel again; what differs from it, in sentences. None: it is the same, byte for byte."""
    manifest, file = shipped.read_manifest(kernel_name), shipped.name_packed_file(kernel_name)
    wrong = compute_sha256(file.read_bytes()) != manifest["xz_sha256"]
    return [f"{file.name} is not the file that {shipped.name_manifest_file(kernel_name).name} names"] * wrong + [
        f"{kernel_name} {name}: shipped {manifest.get(name)!r}, here {value!r}"
        for name, value in describe(*compile_kernel(say, kernel_name)).items()
        if manifest.get(name) != value and name != "package"
    ]


def pack(content: bytes) -> bytes:
    """A kernel as it is shipped; the same bytes every time."""
    return lzma.compress(content, check=lzma.CHECK_SHA256, filters=XZ)


def describe(content: bytes, facts: dict[str, str]) -> dict[str, str]:
    """What is said of a kernel where it is shipped: what its bytes depend on, and their hashes."""
    return {**facts, "sha256": compute_sha256(content), "xz_sha256": compute_sha256(pack(content))}


def compile_kernel(say: Say, kernel_name: str = shipped.RUNS) -> tuple[bytes, dict[str, str]]:
    """Get the source, change it, and compile it: the kernel, and what its bytes depend on."""
    facts = find_tools()
    kernels = cache.make_folder("kernels")
    with cache.locked(kernels / "building", lambda holder: say(cache.describe_wait(holder, "a kernel"))):
        for left in kernels.glob("building.*"):  # of a killed process: nobody else compiles while we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building.", dir=kernels) as name:
            tree, facts["package"], facts["source_sha256"] = lay(Path(name), say)
            facts["release"] = ".".join(map(str, read_version(tree)))
            facts["changes_sha256"] = shipped.hash_ours(kernel_name)
            change(tree, kernel_name)
            say("compiling, which takes some minutes ...")
            linux = _compile(tree, Path(name, "build"), kernels / "build.log", kernel_name)
            _run(["strip", "--strip-all", str(linux)])
            return linux.read_bytes(), facts


def find_tools() -> dict[str, str]:
    """The versions of what makes a kernel's bytes. Raises UnfitMachine with the packages that are missing."""
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    library = "gcc" not in missing and _run(["gcc", "-print-file-name=libc.a"]).strip()
    if not os.path.isabs(library or ""):
        missing.append("libc6-dev")
    if missing:
        raise UnfitMachine(f"a kernel is compiled with packages that are missing: apt-get install {' '.join(missing)}")
    commands = {"compiler": ["gcc", "--version"], "linker": ["ld", "--version"], "libc": ["ldd", "--version"]}
    return {name: _run(command).splitlines()[0] for name, command in commands.items()}


def lay(folder: Path, say: Say) -> tuple[Path, str, str]:
    """Unpack the source that is asked for into a folder: its tree, its name, and the hash of its archive.

    Raises UnfitMachine when it cannot be had.
    """
    if named := os.environ.get(NAMED):
        archive = Path(named).expanduser()
        if not archive.is_file():
            raise UnfitMachine(f"{NAMED} names {named}, which is no archive of a kernel's source")
        name = archive.name
    else:
        archive, name = _fetch_package(folder, say), f"{PACKAGE} {VERSION}"
    say(f"unpacking {archive.name} ...")
    tree = folder / "tree"
    tree.mkdir()
    options = ["--strip-components=1", "--no-same-owner", *(f"--exclude={pattern}" for pattern in _LEAVE_OUT)]
    done = subprocess.run(["tar", "-xf", archive, "-C", tree, *options], capture_output=True, text=True)
    if done.returncode or not (tree / "arch/um/Makefile").exists():
        reason = done.stderr.strip().partition("\n")[0] or "it has no arch/um"
        raise UnfitMachine(f"{archive.name} is no archive of a kernel's source: {reason}")
    with archive.open("rb") as file:
        return tree, name, hashlib.sha256(file.read()).hexdigest()


def _fetch_package(folder: Path, say: Say) -> Path:
    say(f"fetching {PACKAGE} {VERSION} of Debian {SUITE} (160 MB) ...")
    fetched = folder / "fetched"
    fetched.mkdir()
    try:
        [file] = apt.download([f"{PACKAGE}={VERSION}"], fetched, apt.list_options(SUITE))
    except UnfitMachine as reason:
        raise UnfitMachine(
            f"the source cannot be fetched ({reason}): get {PACKAGE} {VERSION} from snapshot.debian.org, "
            f"and set {NAMED} to the archive in it"
        ) from None
    apt.unpack(file, fetched)
    [archive] = (fetched / "usr/src").glob("linux-source-*.tar.xz")
    return archive


def read_version(tree: Path) -> tuple[int, ...]:
    """The version of a tree, such as (6, 12, 117)."""
    head = (tree / "Makefile").read_text(encoding="utf-8")[:1000]
    return tuple(map(int, re.findall(r"^(?:VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", head, re.MULTILINE)))


def change(tree: Path, kernel_name: str = shipped.RUNS) -> None:
    """Make our changes in a source. Raises UnfitMachine if they do not fit it."""
    patches = {path.name: path for path in shipped.PATCHES.glob("*.patch")}
    if read_version(tree) < OLD:
        patches |= {path.name: path for path in (shipped.PATCHES / "before-6.13").glob("*.patch")}
    patches |= {path.name: path for path in (shipped.PATCHES / kernel_name).glob("*.patch")}
    fits = {name: read_version(tree) >= shipped.FROM.get(name, ()) for name in patches}
    patches = {name: path for name, path in patches.items() if fits[name] and shipped.is_applied(path, kernel_name)}
    for name, path in sorted(patches.items()):
        command = ["patch", "-d", str(tree), "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-i", str(path)]
        done = subprocess.run(command, env=_make_environment(), capture_output=True)
        if done.returncode:
            raise UnfitMachine(f"our changes do not fit it: {name}")


def _compile(tree: Path, build: Path, log: Path, kernel_name: str) -> Path:
    build.mkdir()
    config = build / "ours.config"
    text = shipped.name_config_file(kernel_name).read_text(encoding="utf-8")
    if read_version(tree) < OLD:  # linked statically, 6.1.192 did not boot
        text = text.replace("CONFIG_STATIC_LINK=y\n", "") + shipped.OLD_CONFIG
    config.write_text(text, encoding="utf-8")
    make = ["make", "-C", str(tree), f"O={build}", "ARCH=um", "LOCALVERSION=", f"KCONFIG_ALLCONFIG={config}", *ABSENT]
    _make([*make, "-s", "allnoconfig"], log)
    flags = f"{shipped.FLAGS} -ffile-prefix-map={tree}=. -ffile-prefix-map={build}=."
    _make([*make, f"-j{len(os.sched_getaffinity(0))}", f"KCFLAGS={flags}", "linux"], log)
    return build / "linux"


def _make(command: list[str], log: Path) -> None:
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            command, env=_make_environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
    if done.returncode:
        match = re.search(r"\b(?:fatal )?error: .*|.*: (?:command )?not found", log.read_text(errors="replace"))
        raise UnfitMachine(f"it does not compile ({match[0] if match else 'make failed'}); the log: {log}")


def _run(command: list[str]) -> str:
    done = subprocess.run(command, env=_make_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnfitMachine(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return done.stdout


def _make_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | shipped.FIXED
