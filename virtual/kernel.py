"""The kernel for virtual time: compiled once from the distribution's source, tested, and kept per user.

It is identified by a hash of its source, our configuration, our changes and the compiler. Other modules call
`kernel()`; `hedera kernel build` calls `build`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache as once
from pathlib import Path

from files.writer import write_whole
from virtual import cache, smoke, source
from virtual.errors import GuestFailed, Unavailable
from virtual.guest import RESULTS, Guest, require_programs
from virtual.harvest import read_small
from virtual.layer import layer, on_path
from virtual.source import Say, Source

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
)
"""Our changes of the source: (file, expression, replacement)."""
NEEDED = ("UML_TIME_TRAVEL_SUPPORT", "HOSTFS", "OVERLAY_FS", "INET_TCP_DIAG", "OPENVSWITCH", "VETH", "NET_NS",
          "NET_SCH_TBF", "NET_SCH_NETEM", "NET_SCH_FQ", "NET_SCH_RED", "TCP_CONG_DCTCP", "TCP_CONG_BBR")  # fmt: skip
"""Options that the kernel must have; a version may lack other lines of the configuration."""
FLAGS = "-mcmodel=small"
"""The kernel is linked below 2 GiB, and does not need the large code model that its makefile asks for."""
OBJECTS = 650
"""About how many files are compiled, for the progress."""
TOOLS = {"make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
"""Programs that unpack and compile a source, and their packages."""
FRESH_S = 100.0
"""Guest seconds that the test sleeps; they must pass at once."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that passed its test. ``mode``: how it controls its processes, ``seccomp`` or (slower) ``ptrace``."""

    linux: Path
    release: str
    mode: str
    source: str
    digest: str
    compiler: str
    build_s: float

    @property
    def slow(self) -> str | None:
        """A sentence for the user if newer kernels are faster, else None."""
        if self.mode == "seccomp":
            return None
        return (
            f"Linux {self.release} traces its processes, which takes two to three times as long as the seccomp mode "
            "of Linux 6.16 and later: for a newer source from Debian, use hedera kernel build --apt-suite sid "
            f"(or set {source.NAMED} to a source of your own)"
        )


def kernel(say: Say) -> Kernel:
    """The kernel, built now if needed. Raises Unavailable with the reason if that fails."""
    return built() or build(say)


def built() -> Kernel | None:
    """The kernel that was built last, if our configuration and changes are still the same."""
    try:
        stored = json.loads(_record(cache.folder("kernels")).read_text(encoding="utf-8"))
        found = Kernel(**{**stored, "linux": Path(stored["linux"])})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if found.linux.exists() else None


def build(say: Say, suite: str = "") -> Kernel:
    """Compile and test a kernel, from the first source that gives a working one."""
    require_programs()
    kernels = cache.folder("kernels")
    reasons = []
    with cache.locked(kernels / "lock"):
        for left in kernels.glob("building.*"):  # left by a killed process: nobody else builds while we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        for candidate in source.candidates(suite, say):
            try:
                made = _build(candidate, kernels, say)
            except Unavailable as reason:
                say(f"{candidate.name}: {reason}")
                reasons.append(f"{candidate.name}: {reason}")
                continue
            remember(made, kernels)
            return made
    raise Unavailable(f"no kernel for virtual time could be built ({'; '.join(reasons)})")


def _build(candidate: Source, kernels: Path, say: Say) -> Kernel:
    clock = time.monotonic()
    compiler, environment = tools(say)
    with tempfile.TemporaryDirectory(prefix="building.", dir=kernels) as name:
        work = Path(name)
        say(f"fetching and unpacking {candidate.name}")
        tree, fingerprint = candidate.lay(work, environment)
        change(tree)
        digest = _digest(fingerprint, compiler)
        kept = kernels / digest
        if not (kept / "linux").exists():
            linux = _compile(tree, work / "build", environment, kernels / "build.log", say)
            half = work / "half"
            half.mkdir(mode=0o700)
            shutil.copy2(linux, half / "linux")
            shutil.rmtree(kept, ignore_errors=True)
            half.rename(kept)
        release = source.version(tree)
    say(f"testing Linux {release}")
    mode = test(kept / "linux")
    return Kernel(kept / "linux", release, mode, candidate.name, digest, compiler, round(time.monotonic() - clock, 1))


def tools(say: Say) -> tuple[str, dict[str, str]]:
    """The compiler's version, and an environment with the programs that compile a kernel.

    Raises Unavailable with the packages when there is no compiler.
    """
    compiler = shutil.which("gcc")
    if compiler is None or not Path("/usr/include/stdio.h").exists():
        raise Unavailable("there is no C compiler: apt-get install gcc libc6-dev")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    environment = kept | {
        "LC_ALL": "C",
        "KBUILD_BUILD_USER": "hedera",
        "KBUILD_BUILD_HOST": "hedera",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
    }
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        say(f"fetching {', '.join(missing)}")
        if (root := layer(missing)) is not None:
            environment = on_path(root, environment)
    return version.splitlines()[0], environment


def change(tree: Path) -> None:
    """Make our changes in a source. Raises Unavailable if they do not fit it."""
    for name, expression, other in CHANGES:
        path = tree / name
        after, count = re.subn(expression, other, path.read_text(encoding="utf-8"))
        if not count:
            raise Unavailable(f"our changes do not fit its {name}")
        path.write_text(after, encoding="utf-8")


def _digest(fingerprint: str, compiler: str) -> str:
    return hashlib.sha256(f"{fingerprint}\0{compiler}\0{ours()}".encode()).hexdigest()[:16]


@once
def ours() -> str:
    """A hash of what we add to a source."""
    return hashlib.sha256(CONFIG.read_bytes() + repr((CHANGES, FLAGS)).encode()).hexdigest()


def _record(kernels: Path) -> Path:
    """The file that names the last kernel built with our present changes and source setting: two clones of different
    versions have one each."""
    asked = f"{ours()}\0{os.environ.get(source.NAMED, '')}"
    return kernels / f"{hashlib.sha256(asked.encode()).hexdigest()[:16]}.json"


def remember(made: Kernel, kernels: Path) -> None:
    """Record that this is the kernel from now on."""
    write_whole(_record(kernels), json.dumps({**asdict(made), "linux": str(made.linux)}, indent=1))


def _compile(tree: Path, build: Path, environment: Mapping[str, str], log: Path, say: Say) -> Path:
    build.mkdir()
    make = ["make", "-C", str(tree), f"O={build}", "ARCH=um", f"KCONFIG_ALLCONFIG={CONFIG}"]
    with log.open("w", encoding="utf-8", buffering=1) as told:
        _make([*make, "-s", "allnoconfig"], environment, told.write, log)
        settled = (build / ".config").read_text(encoding="utf-8")
        if absent := [name for name in NEEDED if f"CONFIG_{name}=y\n" not in settled]:
            raise Unavailable(f"this version of Linux does not have {', '.join(absent)}")
        jobs = len(os.sched_getaffinity(0))
        _make([*make, f"-j{jobs}", f"KCFLAGS={FLAGS}", "linux"], environment, Counted(told.write, say), log)
    return build / "linux"


def _make(command: list[str], environment: Mapping[str, str], hear: Callable[[str], object], log: Path) -> None:
    with subprocess.Popen(
        command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                hear(line)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        found = re.search(r"\b(?:fatal )?error: .*", log.read_text(encoding="utf-8"))
        raise Unavailable(f"it does not compile ({found[0] if found else 'make failed'}); the log: {log}")


class Counted:
    """Reads make's output, and reports the progress now and then."""

    def __init__(self, write: Callable[[str], object], say: Say) -> None:
        self._write = write
        self._say = say
        self._count = 0
        self._told = 0

    def __call__(self, line: str) -> None:
        """Take one line of make's output."""
        self._write(line)
        self._count += bool(re.match(r"  (CC|AS|HOSTCC)\b", line))
        percent = min(99, 100 * self._count // OBJECTS)
        if percent >= self._told + 10:
            self._told = percent - percent % 10
            self._say(f"compiling, {self._told} %")


def test(linux: Path) -> str:
    """Boot the kernel; check that its time travels and that a limited link has the right goodput. Returns the mode of
    its processes.

    Raises Unavailable with the reason if a check fails.
    """
    script = f'sleep {FRESH_S:g} && exec "$@"'
    program = [sys.executable, "-I", smoke.__file__, RESULTS, str(smoke.SECONDS)]
    try:
        with Guest(linux, ["sh", "-c", script, "sh", *program], folder=Path("/"), real_s=120, memory_mib=512) as guest:
            ended = guest.wait()
            goodput = float(read_small(guest.results / "goodput", 100)) if not ended.status else 0.0
    except (GuestFailed, OSError, ValueError) as reason:
        raise Unavailable(f"it does not run on this machine: {reason}") from None
    if ended.status:
        last = (ended.stderr.strip().splitlines() or ["no word"])[-1]
        raise Unavailable(f"its test failed: {last}")
    if not ended.time_travel:
        raise Unavailable("it does not have virtual time: computing takes time in it")
    low, high = (share * smoke.LINK_MBPS for share in smoke.CARRIES)
    if not low <= goodput <= high:
        raise Unavailable(f"its link of {smoke.LINK_MBPS:g} Mb/s carried {goodput:.2f}, not {low:g} to {high:g}")
    return ended.mode
