"""How a kernel of virtual time is compiled: from the source of those that are shipped, Debian's package, or from the
archive that HEDERA_KERNEL_SOURCE names; our changes of it, and our configuration.

Two compilations of one source by the same compiler, linker and C library give the same file, byte for byte, wherever
they take place.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from record.errors import UnfitMachine
from virtual import apt, cache

FOLDER = Path(__file__).parent
RUNS, PROGRAMS = "linux", "guest"
"""The two of them, as their files are called: that of runs, and that of `hedera guest`, which has what Mininet's
programs ask for besides: a run has no use for it, and its results do not change with it."""
KERNELS = (RUNS, PROGRAMS)
NAMED = "HEDERA_KERNEL_SOURCE"
"""The variable that names another source than that of the shipped kernel."""
PATCHES = FOLDER / "patches"
"""Our changes of the source, one subject a file, applied in the order of their names."""
OF_RUNS = "12"
"""From this number on they are of runs alone, whose speed and ports they are; those of `hedera guest` alone are in a
folder of its name."""
COPIES = (6, 16)
"""From which version on there is what guests are copied with."""
FROM = {
    "11-um-copies-of-a-guest.patch": COPIES,
    "10-um-no-process-without-its-kernel.patch": (7, 2),
    "12-um-time-passes-in-steps.patch": (7, 2),
    "13-eport.patch": (7, 2),
    "14-openvswitch-recent-packets.patch": (7, 2),
    "15-sch-hull-pacer.patch": (7, 2),
    "16-tcp-losses-by-dupthresh.patch": (7, 2),
}
"""Changes that older sources have not got, by the first version that they fit."""
OLD_CONFIG = "CONFIG_KERNEL_STACK_ORDER=3\n"
FLAGS = "-mcmodel=small"
"""The kernel is linked below 2 GiB, and does not need the large code model that its makefile asks for."""
FIXED = {
    "LC_ALL": "C",
    "KBUILD_BUILD_USER": "hedera",
    "KBUILD_BUILD_HOST": "hedera",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
}
"""What would tell when and where a kernel was compiled."""
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
Say = Callable[[str], None]


def compile_kernel(say: Say, kernel_name: str = RUNS) -> tuple[bytes, dict[str, str]]:
    """Get the source, change it, and compile it: the kernel, and what its bytes depend on."""
    facts = find_tools()
    kernels = cache.make_folder("kernels")
    with cache.locked(kernels / "building", lambda holder: say(cache.describe_wait(holder, "a kernel"))):
        for left in kernels.glob("building.*"):  # of a killed process: nobody else compiles while we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building.", dir=kernels) as name:
            tree, facts["package"], facts["source_sha256"] = lay(Path(name), say)
            facts["release"] = ".".join(map(str, read_version(tree)))
            facts["changes_sha256"] = hash_ours(kernel_name)
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


def change(tree: Path, kernel_name: str = RUNS) -> None:
    """Make our changes in a source. Raises UnfitMachine if they do not fit it."""
    patches = {path.name: path for path in PATCHES.glob("*.patch")}
    if read_version(tree) < OLD:
        patches |= {path.name: path for path in (PATCHES / "before-6.13").glob("*.patch")}
    patches |= {path.name: path for path in (PATCHES / kernel_name).glob("*.patch")}
    fits = {name: read_version(tree) >= FROM.get(name, ()) for name in patches}
    patches = {name: path for name, path in patches.items() if fits[name] and is_applied(path, kernel_name)}
    for name, path in sorted(patches.items()):
        command = ["patch", "-d", str(tree), "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-i", str(path)]
        done = subprocess.run(command, env=_make_environment(), capture_output=True)
        if done.returncode:
            raise UnfitMachine(f"our changes do not fit it: {name}")


def _compile(tree: Path, build: Path, log: Path, kernel_name: str) -> Path:
    build.mkdir()
    config = build / "ours.config"
    text = name_config_file(kernel_name).read_text(encoding="utf-8")
    if read_version(tree) < OLD:  # linked statically, 6.1.192 did not boot
        text = text.replace("CONFIG_STATIC_LINK=y\n", "") + OLD_CONFIG
    config.write_text(text, encoding="utf-8")
    make = ["make", "-C", str(tree), f"O={build}", "ARCH=um", "LOCALVERSION=", f"KCONFIG_ALLCONFIG={config}", *ABSENT]
    _make([*make, "-s", "allnoconfig"], log)
    flags = f"{FLAGS} -ffile-prefix-map={tree}=. -ffile-prefix-map={build}=."
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
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | FIXED


def hash_ours(kernel_name: str = RUNS) -> str:
    """A hash of our changes and of how we compile."""
    patches = [path.read_bytes() for path in sorted(PATCHES.rglob("*.patch")) if is_applied(path, kernel_name)]
    settings = repr((OLD_CONFIG, FLAGS, FIXED)).encode()
    return hashlib.sha256(b"".join([name_config_file(kernel_name).read_bytes(), *patches, settings])).hexdigest()


def is_applied(patch: Path, kernel_name: str) -> bool:
    """Whether a change is one of this kernel's."""
    if patch.parent.name in KERNELS:
        return patch.parent.name == kernel_name
    return kernel_name == RUNS or patch.name < OF_RUNS


def name_config_file(kernel_name: str) -> Path:
    return FOLDER / f"{kernel_name}.config"
