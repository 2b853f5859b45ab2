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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from virtual import cache
from virtual.errors import Unavailable
from virtual.kernel import MANIFEST, NAMED, SHIPPED, Kernel, Say, keep, manifest, sha256, source

CONFIG = Path(__file__).with_name("linux.config")
CHANGES = (
    # The processes of a killed guest must not go on running on the host, with the host's system calls.
    (
        "arch/um/os-Linux/skas/process.c",
        r"\(void \*\) ?PTRACE_O_TRACESYSGOOD\)",
        "(void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))",
    ),
    # Random numbers start from the seed on the command line, not from the host's, so that a guest can be repeated.
    (
        "arch/um/kernel/um_arch.c",
        r"if \(os_getrandom\(rng_seed, sizeof\(rng_seed\), 0\) == sizeof\(rng_seed\)\) \{",
        """const char *given = strstr(boot_command_line, "random_seed=");
	size_t at;

	memset(rng_seed, 0, sizeof(rng_seed));
	for (at = 0; given && given[at] > ' ' && at < sizeof(rng_seed); at++)
		rng_seed[at] = given[at];
	{""",
    ),
    (
        "arch/um/include/asm/archrandom.h",
        r"ret = os_getrandom\(v, max_longs \* sizeof\(\*v\), 0\);",
        "ret = 0;",
    ),
    # Nor do they depend on the paths of the guest's files on the host.
    ("init/main.c", r"random_init_early\(command_line\)", 'random_init_early("")'),
    # A packet that a network card has sent no longer belongs to its sender. Otherwise, with switches and hosts on one
    # machine, TCP small queues would count packets that wait in switches, and slow flows down.
    ("drivers/net/veth.c", r"skb_tx_timestamp\(skb\);", "skb_tx_timestamp(skb);\n\tskb_orphan(skb);"),
    # All switches share one table of flows, and so one cache of which mask a packet matched last. Without the port in
    # its key each switch on a path writes over what the one before it has learned, and all masks are tried again.
    ("net/openvswitch/flow_table.c", r"(#define MC_DEFAULT_HASH_ENTRIES\s+)256\n", r"\g<1>4096\n"),
    (
        "net/openvswitch/flow_table.c",
        r"\n\tce = NULL;\n\thash = skb_hash;\n",
        "\n\tskb_hash = jhash_1word(skb_hash, key->phy.in_port);\n\n\tce = NULL;\n\thash = skb_hash;\n",
    ),
)
"""Our changes of the source: (file, expression, replacement)."""
FLOATING_POINT = (
    ("arch/x86/um/user-offsets.c", r"DEFINE_LONGS\(HOST_FP_SIZE, \d+\)", "DEFINE_LONGS(HOST_FP_SIZE, 12288)"),
)
FLOATING_POINT_CONFIG = "CONFIG_KERNEL_STACK_ORDER=3\n"
FLOATING_POINT_SINCE = (6, 13)
"""Linux before this version has 2,696 bytes for a process's floating-point state; with AMX it takes 11,008. The
larger buffer lies on the kernel's stacks, which must grow with it."""
NEEDED = ("UML_TIME_TRAVEL_SUPPORT", "HOSTFS", "OVERLAY_FS", "INET_TCP_DIAG", "OPENVSWITCH", "VETH", "NET_NS",
          "NET_SCH_TBF", "NET_SCH_NETEM", "NET_SCH_FQ", "NET_SCH_RED", "TCP_CONG_DCTCP", "TCP_CONG_BBR")  # fmt: skip
"""Options that the kernel must have; a version may lack other lines of the configuration."""
FLAGS = "-mcmodel=small"
"""The kernel is linked below 2 GiB, and does not need the large code model that its makefile asks for."""
OBJECTS = 650
"""About how many files are compiled, for the progress."""
TOOLS = {"gcc": "gcc", "ld": "binutils", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
"""Programs that unpack and compile a source, and their packages."""
FIXED = {
    "LC_ALL": "C",
    "KBUILD_BUILD_USER": "hedera",
    "KBUILD_BUILD_HOST": "hedera",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
    "KBUILD_BUILD_VERSION": "1",
}
"""What would tell when and where a kernel was compiled."""
XZ = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


@dataclass(frozen=True)
class Made:
    """A kernel that was compiled, and all that its bytes depend on."""

    content: bytes
    facts: dict[str, str]

    @property
    def manifest(self) -> dict[str, str]:
        """What is said of it where it is shipped."""
        return {**self.facts, "sha256": sha256(self.content), "xz_sha256": sha256(self.packed())}

    def packed(self) -> bytes:
        """Its file in small; the same bytes every time."""
        return lzma.compress(self.content, check=lzma.CHECK_SHA256, filters=XZ)


def build(say: Say, *, ship: bool = False) -> Kernel:
    """Compile and test a kernel, from the source that is asked for; it is kept in this user's cache.

    Guests use it if HEDERA_KERNEL_SOURCE asks for it. ``ship``: write it where the shipped one lies.
    Raises Unavailable when it fails.
    """
    made = compiled(say)
    named = bool(os.environ.get(NAMED)) and not ship
    found = keep(made.content, made.facts["release"], made.facts["package"], say, use=named)
    if ship:
        SHIPPED.write_bytes(made.packed())
        MANIFEST.write_text(json.dumps(made.manifest, indent=1) + "\n", encoding="utf-8")
    return found


def differences(say: Say) -> list[str]:
    """Compile the shipped kernel again; what differs from it, in sentences. None: it is the same, byte for byte."""
    shipped, made = manifest(), compiled(say)
    found = [
        f"{name}: shipped {shipped.get(name)!r}, here {value!r}"
        for name, value in made.manifest.items()
        if shipped.get(name) != value and name != "package"
    ]
    if sha256(SHIPPED.read_bytes()) != shipped["xz_sha256"]:
        found.append(f"{SHIPPED.name} is not the file that {MANIFEST.name} names")
    return found


def compiled(say: Say) -> Made:
    """Get the source, change it, and compile it."""
    facts = tools()
    kernels = cache.folder("kernels")
    with _place(kernels, say) as work:
        tree, facts["package"], facts["source_sha256"] = source.lay(work, say)
        facts["release"] = ".".join(map(str, source.version(tree)))
        facts["changes_sha256"] = ours()
        change(tree)
        linux = _compile(tree, work / "build", kernels / "build.log", say)
        _run(["strip", "--strip-all", str(linux)])
        return Made(linux.read_bytes(), facts)


@contextmanager
def _place(kernels: Path, say: Say) -> Iterator[Path]:
    with cache.locked(kernels / "building", lambda: say("another one is being compiled; waiting for it")):
        for left in kernels.glob("building.*"):  # of a killed process: nobody else compiles while we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building.", dir=kernels) as name:
            yield Path(name)


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
    for name, expression, other in (*CHANGES, *(FLOATING_POINT if _old(tree) else ())):
        path = tree / name
        after, count = re.subn(expression, other, path.read_text(encoding="utf-8"))
        if not count:
            raise Unavailable(f"our changes do not fit its {name}")
        path.write_text(after, encoding="utf-8")


def _old(tree: Path) -> bool:
    return source.version(tree) < FLOATING_POINT_SINCE


@once
def ours() -> str:
    """A hash of what we add to a source."""
    added = repr((CHANGES, FLOATING_POINT, FLOATING_POINT_CONFIG, FLAGS, FIXED))
    return sha256(CONFIG.read_bytes() + added.encode())


def _compile(tree: Path, build: Path, log: Path, say: Say) -> Path:
    build.mkdir()
    config = build / "ours.config"
    config.write_text(CONFIG.read_text(encoding="utf-8") + FLOATING_POINT_CONFIG * _old(tree), encoding="utf-8")
    make = ["make", "-C", str(tree), f"O={build}", "ARCH=um", "LOCALVERSION=", f"KCONFIG_ALLCONFIG={config}"]
    _make([*make, "-s", "allnoconfig"], log, say)
    settled = (build / ".config").read_text(encoding="utf-8")
    if absent := [name for name in NEEDED if f"CONFIG_{name}=y\n" not in settled]:
        raise Unavailable(f"this version of Linux does not have {', '.join(absent)}")
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
