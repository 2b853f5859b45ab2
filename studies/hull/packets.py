"""The packet engine: compiled on first use, run, and its results kept.

The engine is kept in the user's cache, by sources, compiler and version of ns-3. Results are reduced to what figures
need and kept, each in one file that is written atomically, so that nothing is run twice.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from packaging.version import Version

from record.files import make_folder, write_whole
from record.progress import is_quiet, tell_user
from studies.hull import linux
from studies.hull.scenario import FAN_OUTS, LARGE, QUERY, SMALL, Experiment, Traffic, make_scenario
from topos.arrays import Bool, Float64
from virtual.cache import describe_wait, locked

SOURCES = Path(__file__).parent / "engine"
OLDEST, NEWEST = Version("3.37"), Version("3.49")
"""Versions of ns-3 between which the engine is known, or expected, to compile."""
CXX20_FROM = Version("3.42")
"""ns-3's headers need C++20 from here on."""

INSTALL = "run setup/install.sh --packets"
LIBRARIES = Path("/usr/lib")
UNUSED_S = 30 * 86400
"""After so long an engine of other sources, compilers or versions of ns-3 is removed."""
_NS3_HEADER = Path("/usr/include/ns3/tcp-socket-base.h")


class NotInstalled(click.ClickException):
    """Something that the packet simulator needs is not on this machine."""

    exit_code = 3


def find_cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hedera" / "packets"


def build_engine(target: str = "engine") -> Path:
    """The compiled engine (or ``unit-tests``), compiled now if needed. NotInstalled says what to install; RuntimeError,
    one sentence, when it does not compile or cannot be kept."""
    folder = find_cache_folder() / _compute_stamp()
    program = folder / target
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(folder)
        if not program.exists():
            # Two processes may ask at once.
            with locked(folder / "lock", lambda holder: tell_user(describe_wait(holder, "the packet simulator"))):
                if not program.exists():
                    _compile(folder, target)
            _remove_old(folder.parent)
    except OSError as error:
        raise RuntimeError(f"the packet engine cannot be compiled into {folder}: {error.strerror}") from None
    return program


def _remove_old(folder: Path) -> None:
    for old_engine in folder.iterdir():
        if old_engine.stat().st_mtime < time.time() - UNUSED_S:
            shutil.rmtree(old_engine, ignore_errors=True)


def _compile(folder: Path, target: str) -> None:
    """Compile a program, which appears only when complete. Object files are kept for the other one."""
    objects = folder / "objects"
    standard = "c++20" if Version(find_ns3_version()) >= CXX20_FROM else "c++17"
    if not is_quiet():
        print(f"compiling the packet {target}, once: a minute or two", file=sys.stderr, flush=True)
    command = ["make", "--silent", "-C", str(SOURCES), f"-j{len(os.sched_getaffinity(0))}"]
    command += [f"OUT={objects}", f"STD={standard}", "CXX=g++", "engine" if target == "engine" else "tests"]
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log = folder / "compile.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        raise RuntimeError(f"the packet engine does not compile with ns-3 {find_ns3_version()}; the log: {log}")
    os.replace(objects / target, folder / target)


@cache
def _read_sources() -> dict[str, bytes]:
    """The sources by name, read once per process."""
    parts = [path for path in SOURCES.rglob("*") if path.suffix in (".cc", ".h") or path.name == "Makefile"]
    return {str(path.relative_to(SOURCES)): path.read_bytes() for path in sorted(parts)}


@cache
def compute_fingerprint() -> str:
    """What results depend on: the engine's sources, without comments and white space, and the version of ns-3."""
    digest = hashlib.sha256()
    for name, source in _read_sources().items():
        if "/" not in name and name != "Makefile":
            code = re.sub(r"/\*.*?\*/|//[^\n]*|\s+", "", source.decode(), flags=re.DOTALL)
            digest.update(name.encode() + code.encode())
    return f"{digest.hexdigest()[:16]}-ns-{find_ns3_version()}"


@cache
def _compute_stamp() -> str:
    """A hash of everything a program is made from: sources, compiler, ns-3's installed libraries, tcmalloc."""
    ns3 = find_ns3_version()  # first: it says what is missing
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    libraries = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for name in ("libns3*.so", "libtcmalloc_minimal.so")
        for path in sorted([*LIBRARIES.glob(name), *LIBRARIES.glob(f"*/{name}")])
    ]
    digest = hashlib.sha256(repr((compiler, platform.machine(), libraries, _read_sources())).encode())
    return f"{ns3}-{digest.hexdigest()[:16]}"


@cache
def find_ns3_version() -> str:
    """The version of ns-3 that is installed, such as 3.37. NotInstalled when there is none, no compiler, or a version
    that the engine does not know."""
    for tool, package in (("g++", "a C++ compiler"), ("make", "make")):
        if shutil.which(tool) is None:
            raise NotInstalled(f"the packet simulator needs {package}: {INSTALL}")
    if not _NS3_HEADER.exists():
        raise NotInstalled(f"the packet simulator needs ns-3: {INSTALL}")
    installed = _find_installed_version()
    if not OLDEST <= Version(installed) <= NEWEST:
        raise NotInstalled(
            f"the packet simulator needs ns-3 {describe_known_versions()}, and found {installed}: {INSTALL}"
        )
    return installed


def describe_known_versions() -> str:
    """The usable versions of ns-3, as text."""
    return f"{OLDEST} to {NEWEST}"


def _find_installed_version() -> str:
    """The version in the library's name, where every distribution has it: libns3.43-core.so and the like."""
    for folder in (*LIBRARIES.glob("*-linux-gnu*"), Path("/usr/lib64"), LIBRARIES):
        for library in sorted(folder.glob("libns3*core*")):
            if match := re.search(r"libns(3\.\d+)-core|core.*\.so\.(\d+)", library.name):
                return match[1] or f"3.{match[2]}"
        for pkgconfig in folder.glob("pkgconfig/ns3-core.pc"):
            if match := re.search(r"^Version:\s*(\d+\.\d+)", pkgconfig.read_text("utf-8"), re.MULTILINE):
                return match[1]
    raise NotInstalled(f"the packet simulator needs ns-3's libraries, and found its headers only: {INSTALL}")


@dataclass(frozen=True)
class Result:
    """One run's numbers.

    ``queue_us``: queueing latency at the port to the client, the mean over each sampling interval. ``small_us``,
    ``large_ms``: completion times, from asking to the last byte. ``query_ms``: of queries, the slowest server;
    ``response_ms``: the mean over a query's servers; ``in_time``: how many of them met the deadline. ``goodput_mbps``:
    payload that reached the client, by connection, in the measured window. ``unfinished``: requests without a whole
    answer. ``counts``: totals of ports and pacers, and the engine's own: events, wall_s, simulated_s.
    """

    queue_us: Float64
    small_us: Float64
    large_ms: Float64
    query_ms: Float64
    response_ms: Float64
    in_time: Float64
    goodput_mbps: Float64
    unfinished: int
    counts: dict[str, float]


KINDS = {LARGE: "large", SMALL: "small", QUERY: "query"}
_ARRAYS = tuple(array.name for array in fields(Result) if array.name not in ("unfinished", "counts"))


def parse(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The engine's output: its head, and its arrays by name. ValueError when it is not whole."""
    line = data.partition(b"\n")[0]
    head, begin = json.loads(line), len(line) + 1
    arrays = {}
    for layout in head["arrays"]:
        array = np.frombuffer(data, layout["type"], layout["count"], begin)
        arrays[layout["name"]] = array
        begin += array.nbytes
    return head, arrays


def reduce_output(experiment: Experiment, traffic: Traffic, data: bytes, wall_s: float) -> Result:
    head, arrays = parse(data)
    begin, end = experiment.window_ns
    finished = arrays["finished_ns"]
    done = finished >= 0
    measured = done & (traffic.start_ns >= begin)  # without the requests that open the connections
    duration_ns = (finished - traffic.start_ns).astype(np.float64)
    kind = traffic.kind
    us_per_byte = 8 / experiment.parameters.link_mbps
    by_query_ms = _group_by_query(traffic, duration_ns / 1e6, done)
    deadline_ms = FAN_OUTS[experiment.workload].deadline_ms if experiment.workload in FAN_OUTS else 0.0
    return Result(
        queue_us=arrays["mean_waiting_bytes switch>client"] * us_per_byte,
        small_us=duration_ns[measured & (kind == SMALL)] / 1e3,
        large_ms=duration_ns[measured & (kind == LARGE)] / 1e6,
        query_ms=by_query_ms.max(axis=1),
        response_ms=by_query_ms.mean(axis=1),
        in_time=(by_query_ms <= deadline_ms).sum(axis=1).astype(np.float64),
        goodput_mbps=arrays["client_received_bytes"] * 8e3 / (end - begin),
        unfinished=0 if experiment.workload == "static" else int(head["unfinished"]),
        counts=_compute_counts(head, traffic, (end - begin) / 1e9, experiment.parameters.link_mbps, wall_s),
    )


def _group_by_query(traffic: Traffic, duration_ms: Float64, done: Bool) -> Float64:
    """What every server took for every query that all of them answered, (queries, servers)."""
    of_query = traffic.kind == QUERY
    order = np.argsort(traffic.query[of_query], kind="stable")
    answered = done[of_query][order].reshape(-1, traffic.servers).all(axis=1)
    by_query: Float64 = duration_ms[of_query][order].reshape(-1, traffic.servers)[answered]
    return by_query


def _compute_counts(
    head: dict[str, Any], traffic: Traffic, window_s: float, link_mbps: float, wall_s: float
) -> dict[str, float]:
    """Totals, and on ns-3 whom servers' pacers chose, by kind: packets, associations, and those that ended."""
    client = next(port for port in head["ports"] if port["link"] == "switch>client")
    counts = {
        "utilisation": client["sent_bytes_in_window"] * 8 / (window_s * link_mbps * 1e6),
        "packets": client["sent_packets"],
        "marked": client["marked_packets"],
        "dropped": sum(port["dropped_packets"] for port in head["ports"]),
        "timeouts": head["timeouts"],
        "events": head["events"],
        "simulated_s": head["simulated_s"],
        "wall_s": wall_s,
    }
    for name in ("paced_packets", "passed_packets", "dropped_packets"):
        counts[f"pacers_{name}"] = sum(pacer[name] for pacer in head["pacers"])
    if not head["events"]:  # Linux counts neither them nor what its pacers see of each flow
        return {name: float(value) for name, value in counts.items() if name != "events"}
    counts |= {f"{kind}_{event}": 0 for kind in KINDS.values() for event in ("packets", "associations", "ended")}
    for pacer in head["pacers"]:
        for flow in pacer["flows"] if pacer["host"] != "client" else ():
            kind = KINDS[traffic.connections[flow["connection"]].kind]
            counts[f"{kind}_packets"] += flow["packets"]
            counts[f"{kind}_associations"] += flow["associations"]
            counts[f"{kind}_ended"] += flow["begun"] - flow["associated"]
    return {name: float(value) for name, value in counts.items()}


def save(result: Result, path: Path) -> None:
    """Write a result; a reader sees all of it or nothing."""
    buffer = io.BytesIO()
    meta = json.dumps({"unfinished": result.unfinished, "counts": result.counts})
    np.savez_compressed(buffer, meta=np.array(meta), **{name: getattr(result, name) for name in _ARRAYS})
    write_whole(path, buffer.getvalue())


def load(path: Path) -> Result | None:
    """A result from its file; None if there is no readable one."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            meta = json.loads(str(stored["meta"]))
            arrays = {name: stored[name].astype(np.float64) for name in _ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Result(**arrays, unfinished=meta["unfinished"], counts=meta["counts"])


@dataclass(frozen=True)
class Task:
    """An experiment, the folder for its result, and the engine it is for, ours on ns-3 or Linux: another engine gives
    other results."""

    experiment: Experiment
    folder: Path
    engine: str = field(default_factory=compute_fingerprint)

    @property
    def is_on_linux(self) -> bool:
        return self.engine.startswith(linux.NAME)

    @property
    def file(self) -> Path:
        return self.folder / f"{self.experiment.make_key(self.engine)}.npz"


def run(experiment: Experiment, on_linux: bool = False) -> Result:
    """Raises NotInstalled, or RuntimeError when the engine fails."""
    traffic = experiment.draw_traffic()
    started = time.perf_counter()
    data = (linux.run_scenario if on_linux else run_scenario)(make_scenario(experiment, traffic))
    return reduce_output(experiment, traffic, data, time.perf_counter() - started)


def run_scenario(scenario: dict[str, Any]) -> bytes:
    """The engine's answer to a scenario. ValueError, one sentence, if it refuses it; RuntimeError when it dies."""
    # Files without a name: a killed process leaves nothing behind.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as scenario_file, tempfile.TemporaryFile() as result_file:
        json.dump(scenario, scenario_file)
        scenario_file.seek(0)
        command = [str(build_engine()), "/dev/stdin", "/dev/stdout"]
        process = subprocess.run(
            command, stdin=scenario_file, stdout=result_file, stderr=subprocess.PIPE, text=True, check=False
        )
        status, lines = (
            process.returncode,
            [line for line in process.stderr.splitlines() if not line.startswith("progress ")],
        )
        if status == 2:
            raise ValueError(lines[-1])
        if status != 0:
            cause = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
            raise RuntimeError(f"the packet engine ended early ({cause}): {lines[-1] if lines else 'no message'}")
        result_file.seek(0)
        return result_file.read()


def load_or_run(task: Task) -> Result:
    """The result of a task: from its file, or run now and kept.

    Raises RuntimeError, one sentence, if this machine (a worker of a cluster) has another engine; OSError, before
    running anything, if the result cannot be kept.
    """
    own_engine = linux.compute_fingerprint() if task.is_on_linux else compute_fingerprint()
    if own_engine != task.engine:
        raise RuntimeError(
            f"a worker has a different packet engine, ns-3 or guests' kernel than this machine ({own_engine} instead "
            f"of {task.engine}), and would give different results: install the same on both"
        )
    result = load(task.file)
    if result is None:
        make_folder(task.folder)  # before it is run in vain
        result = run(task.experiment, task.is_on_linux)
        save(result, task.file)
    return result


def keep(task: Task, result: Result) -> None:
    """Keep what a worker of a cluster has sent on this machine as well."""
    if not task.file.exists():
        save(result, task.file)


def estimate_cost(task: Task) -> tuple[int, float]:
    """The cost by which runs are begun: seed by seed, so that an interrupted command leaves complete seeds, the longest
    first of each (in simulated seconds of a full link)."""
    experiment = task.experiment
    full = 1.0 if experiment.workload == "static" else 0.05 + experiment.load
    return -experiment.seed, full * experiment.seconds
