"""What a guest takes of a machine: limits on a process, a user and the machine, and the programs that boot it.

A login has lower limits than a machine could give: 1,024 open files, of 524,288 that it may ask for. So a guest asks
for what it takes (`raise_limits`); where the machine does not give it, one sentence says so before anything is built.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from record.errors import UnfitMachine

SPARE = 4 / 3
"""A third more than was measured."""
FILES = 128
"""Files that a guest has open on the host beside a pair of sockets for each process: 126 were measured at most (k = 4
and 8, hedera-sa), most of them libraries that are mapped."""
MAPPINGS = 8192
"""Of one process; 3,999 were measured, at k = 8 under hedera-sa."""
BESIDE_MIB = 512
"""Address space beyond a guest's memory, and memory that the host needs for it."""
UNLIMITED = (1 << 63) - 1
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for, those that boot a guest and those in it."""
PROGRAMS = ("setpriv", "taskset", "prlimit", "bash", "ip")
"""What boots a guest."""


@dataclass(frozen=True)
class Needs:
    """What a guest takes: ``processes`` at once, each of which is a process of the host with a pair of sockets, and
    ``memory_mib``."""

    processes: int
    memory_mib: int


@dataclass(frozen=True)
class Limit:
    """One limit: how much of it a guest needs, how much it may have, and how much it has without asking.

    ``mend``: what the user can do where ``may`` is less than ``needs``. ``option``: of prlimit, which counts the same
    in a smaller ``unit``; empty for what no process can raise.
    """

    name: str
    needs: int
    may: int
    has: int
    mend: str
    option: str = ""
    unit: int = 1

    @property
    def enough(self) -> bool:
        return self.may >= self.needs

    def sentence(self) -> str:
        return f"a guest of this size takes {self.needs:,} {self.name}, and there are {self.may:,} at most: {self.mend}"


def _list_of_process(guest: Needs) -> Iterator[Limit]:
    docker, less = ", or docker run --ulimit {}=65536", ", or less memory (hedera guest --memory)"
    files, processes = round(SPARE * (FILES + guest.processes)), round(SPARE * guest.processes) + _count_running()
    for option, letter, name, needs, unit, other in (
        ("nofile", "n", "open files", files, 1, docker),
        ("nproc", "u", "processes beside this user's others", processes, 1, docker),
        ("as", "v", "MiB of address space", guest.memory_mib + BESIDE_MIB, 1 << 20, less),
        ("fsize", "f", "MiB in one file", guest.memory_mib, 1 << 20, less),
        ("sigpending", "i", "pending signals", 64, 1, ""),
    ):
        pair = resource.getrlimit(getattr(resource, f"RLIMIT_{option.upper()}"))
        has, may = (UNLIMITED if value == resource.RLIM_INFINITY else value // unit for value in pair)
        mend = f"ulimit -H{letter} tells; /etc/security/limits.conf ({option}){other.format(option)}"
        yield Limit(name, needs, may, has, mend, option, unit)


def list_limits(guest: Needs) -> Iterator[Limit]:
    """Every limit on a guest here."""
    for limit in _list_of_process(guest):
        # Root has as many processes as there are, but where it is root of a container alone.
        if limit.option != "nproc" or os.geteuid() != 0:
            yield limit
    mappings = int(Path("/proc/sys/vm/max_map_count").read_text())
    yield Limit("mappings of a process", MAPPINGS, mappings, mappings, f"sysctl vm.max_map_count={MAPPINGS}")
    memory = measure_memory_mib()
    mend = "docker run --memory, a larger virtual machine, or less memory (hedera guest --memory)"
    yield Limit("MiB of memory", guest.memory_mib, memory, memory, mend)


def require(guest: Needs) -> None:
    """UnfitMachine names the first limit that is too low, what it takes, and what to do."""
    for limit in list_limits(guest):
        if not limit.enough:
            raise UnfitMachine(limit.sentence())


def require_programs() -> None:
    """UnfitMachine names the programs that booting a guest needs and this machine lacks."""
    if missing := [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]:
        raise UnfitMachine(f"{', '.join(missing)} missing: apt-get install util-linux bash iproute2")


def raise_limits(guest: Needs) -> list[str]:
    """A prefix for a guest's command: it raises what is too low, where it may. Raises UnfitMachine as `require`."""
    require(guest)
    options = []
    for limit in _list_of_process(guest):
        if limit.has < limit.needs:
            hard = "unlimited" if limit.may == UNLIMITED else limit.may * limit.unit
            options.append(f"--{limit.option}={limit.needs * limit.unit}:{hard}")
    return ["prlimit", *options, "--"] if options else []


def measure_memory_mib() -> int:
    """The memory of the machine, or of the control group that we are in, whichever is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [_read(path / file) for path in _list_groups() for file in ("memory.max", "memory.limit_in_bytes")]
    return min([machine, *(int(text) for text in texts if text.isdecimal())]) >> 20


def count_killed_for_memory() -> int:
    """How often the kernel has killed a process of our control group for want of memory; 0 where it does not say."""
    texts = (_read(path / "memory.events") for path in _list_groups())
    return sum(int(count) for text in texts for count in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE))


def _list_groups() -> Iterator[Path]:
    """The control groups that limit our memory, from our own up to the topmost that we see."""
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "memory"):
            top, place = Path("/sys/fs/cgroup", controllers), Path(group.lstrip("/"))
            yield from (top / part for part in (place, *place.parents))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _count_running() -> int:
    """Processes of this user, threads too."""
    texts = map(_read, Path("/proc").glob("[0-9]*/status"))
    pattern = rf"\nUid:\t{os.getuid()}\t.*?\nThreads:\t(\d+)"
    return sum(int(match[1]) for text in texts if (match := re.search(pattern, text, re.DOTALL)))
