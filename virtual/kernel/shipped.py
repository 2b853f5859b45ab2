"""The kernels that are shipped: unpacked for each user, and tested at their first use on a machine."""

from __future__ import annotations

import hashlib
import lzma
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from record.errors import UnfitMachine, WorkerFailed
from virtual import cache
from virtual.guest import RESULTS, Guest
from virtual.kernel import smoke
from virtual.results import read_small

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
Say = Callable[[str], None]


@dataclass(frozen=True)
class Kernel:
    """A kernel that passed its test.

    ``mode``: how it controls its processes, ``seccomp`` or (slower) ``ptrace``. ``sha256``: of the file ``linux``.
    """

    release: str
    mode: str
    source: str
    sha256: str

    @property
    def linux(self) -> Path:
        return cache.make_folder("kernels") / f"linux-{self.sha256[:16]}"

    @property
    def copies(self) -> bool:
        """Whether a guest of it can be copied (`virtual.guest.Original`)."""
        return tuple(map(int, re.findall(r"\d+", self.release)[:2])) >= COPIES

    @property
    def slow(self) -> str | None:
        """A sentence for the user if its guests take longer than others', else None."""
        if self.mode == "seccomp":
            return None
        faster = f"unset {NAMED}" if os.environ.get(NAMED) else "allow seccomp filters here"
        return f"Linux {self.release} traces its processes, which takes some 1.5 times as long as by seccomp: {faster}"


def find_built(kernel_name: str = RUNS) -> Kernel | None:
    try:
        kernel = msgspec.json.decode(_record(kernel_name).read_bytes(), type=Kernel)
        return kernel if compute_sha256(kernel.linux.read_bytes()) == kernel.sha256 else None
    except (OSError, msgspec.DecodeError):
        return None


def identify(kernel_name: str = RUNS) -> str:
    if named := os.environ.get(NAMED):
        return f"{named}, {hash_ours(kernel_name)}"
    return read_manifest(kernel_name)["sha256"]


def hash_ours(kernel_name: str = RUNS) -> str:
    """A hash of our changes and of how we compile."""
    patches = [path.read_bytes() for path in sorted(PATCHES.rglob("*.patch")) if is_applied(path, kernel_name)]
    return compute_sha256(
        b"".join([name_config_file(kernel_name).read_bytes(), *patches, repr((OLD_CONFIG, FLAGS, FIXED)).encode()])
    )


def is_applied(patch: Path, kernel_name: str) -> bool:
    """Whether a change is one of this kernel's."""
    if patch.parent.name in KERNELS:
        return patch.parent.name == kernel_name
    return kernel_name == RUNS or patch.name < OF_RUNS


def name_config_file(kernel_name: str) -> Path:
    return FOLDER / f"{kernel_name}.config"


def name_packed_file(kernel_name: str) -> Path:
    return FOLDER / f"{kernel_name}.xz"


def name_manifest_file(kernel_name: str) -> Path:
    return FOLDER / f"{kernel_name}.json"


def read_manifest(kernel_name: str = RUNS) -> dict[str, str]:
    return msgspec.json.decode(name_manifest_file(kernel_name).read_bytes(), type=dict[str, str])


def keep(content: bytes, release: str, source: str, say: Say, *, use: str = "") -> Kernel:
    """Put a kernel into the user's cache and test it. ``use``: which of the kernels it is from now on; empty: none."""
    made = Kernel(release, "", source, compute_sha256(content))
    new = made.linux.with_suffix(f".{os.getpid()}")
    with cache.locked(new.with_name("lock")):
        try:
            new.write_bytes(content)
            new.chmod(0o755)
            new.replace(made.linux)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise UnfitMachine(f"the kernel could not be written to {new.parent}: {error.strerror}") from None
        say(f"testing Linux {release} ...")
        made = replace(made, mode=test(made.linux))
        if use:
            new.write_bytes(msgspec.json.encode(made))
            new.replace(_record(use))
    return made


def unpack(say: Say, kernel_name: str = RUNS) -> Kernel:
    """A shipped kernel, put into the user's cache and tested. Raises UnfitMachine with the reason if that fails."""
    if platform.machine() != "x86_64":
        raise UnfitMachine(f"guests need a processor with x86-64, and this is {platform.machine()}")
    facts, file = read_manifest(kernel_name), name_packed_file(kernel_name)
    try:
        content = lzma.decompress(file.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise UnfitMachine(f"{file} cannot be unpacked ({error}): git checkout {file.name}") from None
    if compute_sha256(content) != facts["sha256"]:
        raise UnfitMachine(f"{file} is not what {name_manifest_file(kernel_name).name} says: git checkout both")
    return keep(content, facts["release"], facts["package"], say, use=kernel_name)


def compute_sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _record(kernel_name: str) -> Path:
    """The file that names the kernel: one for each version of it, and for each kind of machine where it was tested,
    which may share a home."""
    with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        processor = next((line for line in file if line.startswith("flags")), "")
    machine = f"{identify(kernel_name)}\0{os.uname().release}\0{processor}"
    return cache.make_folder("kernels") / f"{compute_sha256(machine.encode())[:16]}.json"


def test(linux: Path) -> str:
    """Boot the kernel; check that its time travels, and that a limited link has the right goodput and stores and
    forwards. Returns the mode of its processes.

    Raises UnfitMachine with the reason if a check fails.
    """
    program = [sys.executable, "-I", smoke.__file__, RESULTS, str(smoke.SECONDS)]
    try:
        with Guest(linux, program, folder=Path("/"), real_s=120, memory_mib=512) as guest:
            ended = guest.wait()
            if ended.status:
                raise UnfitMachine(f"the kernel's test failed: {ended.stderr.strip().rpartition(chr(10))[2]}")
            goodput, frame_ms = map(float, read_small(guest.results / "measured", 100).split())
    except (WorkerFailed, OSError, ValueError) as reason:
        raise UnfitMachine(f"the kernel does not run on this machine: {reason}") from None
    if not ended.time_travel:
        raise UnfitMachine("the kernel does not have virtual time: computing takes time in it")
    low, high = (share * smoke.LINK_MBPS for share in smoke.CARRIES)
    if not low <= goodput <= high:
        raise UnfitMachine(f"a guest's link of {smoke.LINK_MBPS:g} Mb/s carried {goodput:.2f}, not {low:g} to {high:g}")
    if not 1 <= frame_ms / smoke.FRAME_MS <= 1.005:
        raise UnfitMachine(f"a packet crossed a guest's idle link in {frame_ms:.4f} ms, not {smoke.FRAME_MS:g}")
    return ended.mode
