"""The kernels of virtual time: those that are shipped, unpacked for each user, or one that is compiled here. Each is
tested at its first use on a machine. Everyone has the same ones, so results of different machines compare.

`virtual.kernel.build` compiles a kernel from its source, or from the source that HEDERA_KERNEL_SOURCE names.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from record.errors import UnfitMachine, WorkerFailed
from virtual import cache, limits
from virtual.guest import RESULTS, Guest
from virtual.kernel import smoke
from virtual.kernel.build import COPIES, FOLDER, NAMED, RUNS, Say, compile_kernel, hash_ours
from virtual.results import read_small

XZ = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
"""How a kernel is packed where it is shipped."""


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


def find_kernel(say: Say, kernel_name: str = RUNS) -> Kernel:
    """The kernel of runs, or ``kernel_name``, unpacked and tested (or, with HEDERA_KERNEL_SOURCE, compiled) now if it
    is not there yet.

    Raises UnfitMachine with the reason if that fails.
    """
    limits.require_programs()
    if (of_user := find_built(kernel_name)) is not None:
        return of_user
    return build_kernel(say, kernel_name) if os.environ.get(NAMED) else unpack(say, kernel_name)


def find_built(kernel_name: str = RUNS) -> Kernel | None:
    try:
        kernel = msgspec.json.decode(_name_record_file(kernel_name).read_bytes(), type=Kernel)
        return kernel if compute_sha256(kernel.linux.read_bytes()) == kernel.sha256 else None
    except (OSError, msgspec.DecodeError):
        return None


def identify(kernel_name: str = RUNS) -> str:
    if named := os.environ.get(NAMED):
        return f"{named}, {hash_ours(kernel_name)}"
    return read_manifest(kernel_name)["sha256"]


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
            new.replace(_name_record_file(use))
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


def _name_record_file(kernel_name: str) -> Path:
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


# --- compiled, shipped, and compiled again ----------------------------------------------------------------------------


def build_kernel(say: Say, kernel_name: str = RUNS, *, ship: bool = False) -> Kernel:
    """Compile and test one of the kernels, from the source that is asked for; it is kept in this user's cache.

    Guests use it if HEDERA_KERNEL_SOURCE asks for it. ``ship``: write it where the shipped one lies.
    Raises UnfitMachine when it fails.
    """
    content, facts = compile_kernel(say, kernel_name)
    use = kernel_name if os.environ.get(NAMED) and not ship else ""
    kept = keep(content, facts["release"], facts["package"], say, use=use)
    if ship:
        name_packed_file(kernel_name).write_bytes(pack(content))
        name_manifest_file(kernel_name).write_text(
            json.dumps(describe(content, facts), indent=1) + "\n", encoding="utf-8"
        )
    return kept


def find_differences(say: Say, kernel_name: str = RUNS) -> list[str]:
    """Compile a shipped kernel again; what differs from it, in sentences. None: it is the same, byte for byte."""
    manifest, file = read_manifest(kernel_name), name_packed_file(kernel_name)
    wrong = compute_sha256(file.read_bytes()) != manifest["xz_sha256"]
    return [f"{file.name} is not the file that {name_manifest_file(kernel_name).name} names"] * wrong + [
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
