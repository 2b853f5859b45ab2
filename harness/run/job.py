"""A run as a job: its spec, and the contents of the user's files that it names, as JSON; and the code that makes it.

Whoever carries it out reads none of the user's files: they are looked up in the job (`traffic.user_files.job_files`).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import msgspec

from harness.network import machine
from record.errors import UnfitMachine, UserMistake
from record.run import Fact
from record.spec import KNOWN_TO_ALL, RunSpec, compute_longest_s, find_lasting
from traffic.user_files import believe_only, job_files

if TYPE_CHECKING:
    from traffic.workload import Workload
    from virtual.guest import Progress
    from virtual.limits import Needs

PROJECT = Path(__file__).resolve().parents[2]
"""The folder that holds our packages."""
# It is raised whenever shares of the control may change by more than chance: runs of other versions are not drawn
# together unsaid. Within a version another kernel or other code, which run.json names, may move what one seed gives. 1
# was everything before 1.1. A test holds which kernel belongs to it.
EMULATOR = 5
"""The version of what emulates: the guests' kernel, ports, sinks, what is drawn from a seed."""
# What only carries a run there and back (harness/jobs, harness/root.py, virtual) is not among them: it decides nothing
# of a result, and run.json has a hash of the guest's kernel besides.
ROOMS = ("topos", "traffic", "hedera", "controllers", "record", "harness/network", "harness/hosts", "harness/run",
         "harness/verdict")  # fmt: skip
"""The folders of the code that takes part in a run, and of the tables that it reads."""
# Git reads the whole tree to say whether it differs, from a disk that may be a network's. A revision is only told, so a
# run does not wait longer for it.
GIT_S = 20.0
"""Git may take so long to name the revision."""
CODE, COMPILED = "/opt/hedera", "compiled"
"""Where guests see our code, and the folder of machine code in it."""
# Root's process, guests and workers read jobs of others: what they take in is bounded. One file of flows may have 20
# MB.
MAX_JOB_BYTES = 64 << 20
"""A job is not larger."""
OnStage = Callable[[str, "Progress | None"], None]
"""Called with the stage a run is at, and how far its guest is, some ten times a second; what it raises ends the run."""
# A user's names of files mean the files of one job at a time in this process: jobs are judged side by side in threads.
files_lock = RLock()
"""Whoever puts a job's files into `traffic.user_files.job_files` holds this lock."""
# A run has nine programs beside those of its hosts (measured); 16 leave room.
PROGRAMS, SPARE_MIB = 16, 512
"""What a run takes of processes and memory beside what its hosts take."""
# Linux takes the limits of TCP's buffers from a machine's memory. From here on they are the usual ones, so that the
# size of a network does not change its TCP.
LEAST_MIB = 1024
"""A guest has at least so much memory."""
# A flow that has its host's link fills the queue there, and its socket's buffer grows to 4 MB: 3 MiB for each that is
# open, a few seconds after 1,024 hosts had begun. At a load of 1 a third to a half of all are open after a minute.
LONG_FLOW_MIB = 2
"""What buffers take for each flow that comes and stays a while."""
NOT_VIRTUAL = "its time was not virtual: the guest's clock ran with this machine's"


class Circumstances(msgspec.Struct, frozen=True):
    """What only who carried a run out knows of it: when it ``started``, what is to be said of its ``environment``, and
    a ``doubt``, a sentence, where its time was not virtual; nothing where the run tells all that itself."""

    started: datetime | None = None
    environment: dict[str, Fact] = {}
    doubt: str | None = None


class Job(msgspec.Struct, frozen=True, dict=True):
    """``spec``: without any ``auto``. ``files``: by their names in it; an own pattern or network by its rows."""

    spec: RunSpec
    files: dict[str, str]

    def encoded(self) -> bytes:
        """Two lines of JSON: the files, then the spec, which may name them. UserMistake if that is too large."""
        data = msgspec.json.encode(self.files) + b"\n" + msgspec.json.encode(self.spec)
        if len(data) > MAX_JOB_BYTES:
            raise UserMistake(f"the files that a run names have more than {MAX_JOB_BYTES >> 20} MiB in all")
        return data

    @property
    def emulator(self) -> str:
        """What carries the run out, in words, as far as it may change the result."""
        from virtual.kernel.build import NAMED

        other = os.environ.get(NAMED) if self.spec.time == "virtual" else None
        return f"{self.spec.time} time, version {EMULATOR}" + (f", kernel {other}" if other else "")

    @property
    def inputs(self) -> dict[str, str]:
        """Hashes of its files' contents, by name."""
        return {name: _hash_content(content.encode("utf-8", "surrogatepass")) for name, content in self.files.items()}

    @cached_property
    def key(self) -> str:
        """The hash by which a run is known: of everything that decides its result."""
        # The number of a trial is only a name: the trials of a sweep differ by their seeds.
        spec = {name: value for name, value in self.spec.as_json().items() if name != "trial"}
        return _hash_content(msgspec.json.encode([spec, self.inputs, self.emulator], order="sorted"))

    @cached_property
    def needs(self) -> Needs:
        """The processes and the memory that its guest takes."""
        with self.files_in_place():
            return _estimate_needs(self.spec, self.spec.workload())

    @cached_property
    def network_only_job(self) -> Job:
        """What is done of it before anything is sent, as a job: the same for all whose traffic lasts, unless the
        network is so large that hosts know only those that they send to."""
        with self.files_in_place():
            return self._make_network_only_job(self.spec.workload())

    def _make_network_only_job(self, workload: Workload) -> Job:
        # Until it is ready, a network depends on its traffic in two ways only: whether flows last, by which TCP is set,
        # and in a network of many hosts who knows whose address.
        if find_lasting(workload) is None or self.spec.network().num_hosts > KNOWN_TO_ALL:
            return self
        # Any traffic that lasts stands for all of it: this one is never sent.
        spec = replace(self.spec, traffic="stride:1", flows_per_host=1, keep=1.0, trial=1)
        return Job(spec, spec.user_files())

    @property
    def longest_s(self) -> float:
        """Seconds after which it is taken to hang."""
        with self.files_in_place():
            return compute_longest_s(self.spec)

    @contextmanager
    def files_in_place(self) -> Iterator[None]:
        """While the block runs, this process has these files in place of those on the disk."""
        with files_lock:
            job_files.update(self.files)
            try:
                yield
            finally:
                for name in self.files:
                    del job_files[name]


def _estimate_needs(spec: RunSpec, workload: Workload) -> Needs:
    """The processes and the memory that the guest of a run takes, by its network and its traffic."""
    from virtual.limits import Needs

    # A flow that lasts has an iperf client, and other traffic has a program on every host: for k = 4, 6 and 8 a run has
    # 26, 64 and 138 processes. Memory is twice what was measured at k = 4, 8 and 16: 210 MiB, and 3.4 for each host
    # with its switches and its flow.
    matrix = find_lasting(workload)
    flows = 0 if matrix is None else len(matrix)
    hosts, switches = (topo := spec.network()).num_hosts, topo.num_switches
    programs = max(hosts, flows)
    of_programs_mib = 5 * (hosts + switches) + 2 * (programs - hosts)
    memory_mib = SPARE_MIB + of_programs_mib + LONG_FLOW_MIB * _count_long_flows(spec, workload)
    return Needs(PROGRAMS + programs, max(LEAST_MIB, memory_mib))


def _count_long_flows(spec: RunSpec, workload: Workload) -> int:
    """How many flows come, wait for no other, and take a second or more at the rate of a link."""
    from traffic.flows import LASTING, WAITS

    second_bytes = spec.link_mbps * 1e6 / 8
    return sum(
        int(((block.size_bytes >= second_bytes) & (block.size_bytes != LASTING) & (block.start_s != WAITS)).sum())
        for block in workload.blocks()
    )


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def without_auto(spec: RunSpec, as_root: bool) -> RunSpec:
    """With what ``auto`` means for time and platform on this machine; what depends on traffic is left.

    ``as_root``: whether a process of ours is root, which real time takes. Raises UserMistake and UnfitMachine.
    """
    time = spec.time
    if time == "auto":
        time = "real" if as_root and machine.has_kernel_datapath() else "virtual"
    elif time == "real":
        if not as_root:
            machine.require_root()
        machine.require_datapath()
    return replace(spec, time=time, platform=choose_platform(spec.platform))


def choose_platform(platform: str) -> str:
    """``pox`` or ``os-ken`` for ``auto`` (POX when there is one that runs on Python 3), ``pox`` or ``os-ken``."""
    if platform == "os-ken":
        return platform
    try:
        pox = machine.find_pox()
    except ValueError as error:
        raise UserMistake(str(error)) from None
    if pox is not None and not machine.is_too_old_pox(pox):
        return "pox"
    if platform == "pox":
        old = "" if pox is None else f" ({pox} holds POX {machine.read_pox_version(pox)}, which needs Python 2)"
        raise UnfitMachine(
            f"POX was not found{old}: setup/install.sh --pox fetches it; or put a checkout of its branch halosaur at "
            "~/pox or /opt/pox, or name it in POX_DIR, or use --platform os-ken"
        )
    return "os-ken"


def make_job(spec: RunSpec) -> Job:
    """The job of a run, with what ``auto`` means for its traffic, and on this machine where that is open yet.

    UserMistake for what makes no sense or cannot be read, UnfitMachine for what cannot be had.
    """
    if "auto" in (spec.time, spec.platform):
        spec = without_auto(spec, as_root=spec.time == "real" or os.geteuid() == 0)
    workload = spec.workload()
    spec = spec.for_its_traffic(workload)
    try:
        job = Job(spec, spec.user_files())
    except (ValueError, OSError) as error:
        raise UserMistake(str(error)) from None
    with job.files_in_place():  # traffic is drawn once, and may be too large to keep
        vars(job).update(needs=_estimate_needs(spec, workload), network_only_job=job._make_network_only_job(workload))
    return job


def decode_job(data: bytes) -> Job:
    """A job that came from another process, which believes its files alone from now on. UserMistake if it is none."""
    if len(data) > MAX_JOB_BYTES:
        raise UserMistake("this job is too large")
    first, _, second = data.partition(b"\n")
    try:
        files = msgspec.json.decode(first, type=dict[str, str])
        believe_only(files)
        return Job(msgspec.json.decode(second, type=RunSpec), files)
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise UserMistake(f"this is no job that this revision knows: {error}") from None


# --- which code runs are made with ------------------------------------------------------------------------------------

# The harness keeps what it was started with, and a controller is started anew for every run, from the disk. Where that
# has changed meanwhile, the run does not count (`harness.jobs.carry_out`).


@dataclass(frozen=True)
class Source:
    """A revision of git (``unknown`` outside a checkout), and a hash of all code that takes part in a run."""

    revision: str
    fingerprint: str


def describe_source() -> Source:
    return Source(read_git_revision(), compute_fingerprint(PROJECT))


@cache
def describe_first_source() -> Source:
    return describe_source()


def compute_fingerprint(folder: Path) -> str:
    """16 hexadecimal digits that change when a file below ``folder`` does that takes part in a run."""
    digest = hashlib.sha256()
    for path in list_parts(folder):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def list_parts(folder: Path) -> list[Path]:
    return sorted(
        path for room in ROOMS for kind in ("*.py", "*.csv", "*.txtpb") for path in (folder / room).glob(kind)
    )


def describe_code() -> dict[str, str]:
    """The code on the disk, for the result of a run that starts now."""
    now = describe_source()
    return {"revision": now.revision, "source": now.fingerprint}


def read_git_revision() -> str:
    """The commit this code is at, with ``+`` when the tree differs from it; ``unknown`` outside a checkout, and where
    git is missing or takes longer than GIT_S."""
    if known := machine.load_known_facts().get("revision"):
        return str(known)
    try:
        head = _run_git("rev-parse", "--short=12", "HEAD")
        return head + "+" * bool(_run_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _run_git(*words: str) -> str:
    git = ["git", "--no-optional-locks", "-c", f"safe.directory={PROJECT}", "-C", str(PROJECT)]
    done = subprocess.run([*git, *words], capture_output=True, text=True, check=True, timeout=GIT_S)
    return done.stdout.strip()
