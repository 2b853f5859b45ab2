"""Runs experiments: one in the engine, or many at once. Results are reduced to what figures need and kept, each in one
file that is written atomically, so that nothing is run twice."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from record.files import make_folder, write_whole
from studies.hull.build import engine, fingerprint
from studies.hull.experiment import Experiment, scenario
from studies.hull.workload import FAN_OUTS, LARGE, QUERY, SMALL, Traffic
from topos.arrays import Bool, Float64


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
SELECTION = ("packets", "associations", "ended")
"""Of the flows of a kind at the servers' pacers, in ``counts``."""

_ARRAYS = tuple(each.name for each in fields(Result) if each.name not in ("unfinished", "counts"))


def parse(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The engine's output: its head, and its arrays by name.

    Raises ValueError when it is not whole.
    """
    line, newline, rest = data.partition(b"\n")
    if not newline:
        raise ValueError("the engine's result is cut short")
    head = json.loads(line)
    arrays = {}
    for each in head["arrays"]:
        kind = np.dtype(each["type"])
        size = kind.itemsize * each["count"]
        if len(rest) < size:
            raise ValueError("the engine's result is cut short")
        arrays[each["name"]] = np.frombuffer(rest[:size], kind)
        rest = rest[size:]
    return head, arrays


def reduce(experiment: Experiment, traffic: Traffic, data: bytes, wall_s: float) -> Result:
    head, arrays = parse(data)
    begin, end = experiment.window_ns
    finished = arrays["finished_ns"]
    done = finished >= 0
    measured = done & (traffic.start_ns >= begin)  # without the requests that open the connections
    took_ns = (finished - traffic.start_ns).astype(np.float64)
    kind = traffic.kind
    us_per_byte = 8 / experiment.parameters.link_mbps
    query_ms, response_ms, in_time = _queries(experiment, traffic, took_ns / 1e6, done)
    return Result(
        queue_us=arrays["mean_waiting_bytes switch>client"] * us_per_byte,
        small_us=took_ns[measured & (kind == SMALL)] / 1e3,
        large_ms=took_ns[measured & (kind == LARGE)] / 1e6,
        query_ms=query_ms,
        response_ms=response_ms,
        in_time=in_time,
        goodput_mbps=arrays["client_received_bytes"] * 8e3 / (end - begin),
        unfinished=0 if experiment.workload == "static" else int(head["unfinished"]),
        counts=_counts(head, (end - begin) / 1e9, experiment.parameters.link_mbps, wall_s) | _selection(head, traffic),
    )


def _queries(
    experiment: Experiment, traffic: Traffic, took_ms: Float64, done: Bool
) -> tuple[Float64, Float64, Float64]:
    """Completion, mean response and servers in time of every query that all servers answered."""
    of_query = traffic.kind == QUERY
    if not of_query.any():
        return np.zeros(0), np.zeros(0), np.zeros(0)
    order = np.argsort(traffic.query[of_query], kind="stable")
    by_query = took_ms[of_query][order].reshape(-1, traffic.servers)
    by_query = by_query[done[of_query][order].reshape(-1, traffic.servers).all(axis=1)]
    in_time = (by_query <= FAN_OUTS[experiment.workload].deadline_ms).sum(axis=1)
    return by_query.max(axis=1), by_query.mean(axis=1), in_time.astype(np.float64)


def _counts(head: dict[str, Any], window_s: float, link_mbps: float, wall_s: float) -> dict[str, float]:
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
    return {name: float(value) for name, value in counts.items()}


def _selection(head: dict[str, Any], traffic: Traffic) -> dict[str, float]:
    """Which flows the servers' pacers chose, by kind: packets, associations, and the associations that ended."""
    counts = {f"{kind}_{what}": 0.0 for kind in KINDS.values() for what in SELECTION}
    for pacer in head["pacers"]:
        for flow in pacer["flows"] if pacer["host"] != "client" else ():
            kind = KINDS[traffic.connections[flow["connection"]].kind]
            counts[f"{kind}_packets"] += flow["packets"]
            counts[f"{kind}_associations"] += flow["associations"]
            counts[f"{kind}_ended"] += flow["begun"] - flow["associated"]
    return counts


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
    """An experiment, the folder for its result, and the engine it is for: another engine gives other results."""

    experiment: Experiment
    folder: Path
    engine: str = field(default_factory=fingerprint)


def run(experiment: Experiment) -> Result:
    """Run one experiment.

    Raises NotInstalled (studies.hull.build), or RuntimeError when the engine fails.
    """
    traffic = experiment.traffic()
    started = time.perf_counter()
    data = run_scenario(scenario(experiment, traffic))
    return reduce(experiment, traffic, data, time.perf_counter() - started)


def run_scenario(built: dict[str, Any]) -> bytes:
    """Run a scenario in the engine and return what it writes.

    Raises ValueError, one sentence, for a scenario that the engine refuses; RuntimeError when it dies.
    """
    # Files without a name: a killed process leaves nothing behind.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as question, tempfile.TemporaryFile() as answer:
        json.dump(built, question)
        question.seek(0)
        command = [str(engine()), "/dev/stdin", "/dev/stdout"]
        done = subprocess.run(command, stdin=question, stdout=answer, stderr=subprocess.PIPE, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("progress ")]
        if done.returncode == 2:
            raise ValueError(said[-1])
        if done.returncode != 0:
            message = said[-1] if said else "no message"
            raise RuntimeError(f"the packet engine ended early ({_why(done.returncode)}): {message}")
        answer.seek(0)
        return answer.read()


def _why(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def place(task: Task) -> Path:
    return task.folder / f"{task.experiment.key(task.engine)}.npz"


def kept_or_run(task: Task) -> Result:
    """The result of a task: from its file, or run now and kept.

    Raises RuntimeError, one sentence, if this machine (a worker of a cluster) has another engine; OSError, before
    running anything, if the result cannot be kept.
    """
    if fingerprint() != task.engine:
        raise RuntimeError(
            f"a worker has a different packet engine or ns-3 than this machine ({fingerprint()} instead of "
            f"{task.engine}), and would give different results: install the same on both"
        )
    path = place(task)
    result = load(path)
    if result is None:
        make_folder(task.folder)  # before it is run in vain
        result = run(task.experiment)
        save(result, path)
    return result


def run_many(
    label: str, experiments: Sequence[Experiment], folder: Path, jobs: int | None = None, cluster: str | None = None
) -> list[Result]:
    """The results of many experiments, in their order: from files, or run now in parallel.

    Runs go seed by seed, so that an interrupted command leaves complete seeds; the longest of each first, so that
    no long run is left alone at the end.
    """
    from record.tasks import run_tasks

    engine()  # compiled once, before many ask for it
    tasks = [Task(experiment, folder) for experiment in experiments]
    results = {task: load(place(task)) for task in tasks}
    missing = sorted((task for task, result in results.items() if result is None), key=_turn)
    if missing:
        kept = len(tasks) - len(missing)
        title = f"{label}: {len(missing)} runs" + (f", {kept} kept from before" if kept else "")
        for task, result in zip(missing, run_tasks(title, kept_or_run, missing, jobs, cluster), strict=True):
            results[task] = result
            if cluster:
                save(result, place(task))
    return [found for task in tasks if (found := results[task]) is not None]


def _turn(task: Task) -> tuple[int, float]:
    """The sort key: the seed, then minus the run's rough length, in simulated seconds of a full link."""
    experiment = task.experiment
    full = 1.0 if experiment.workload == "static" else 0.05 + experiment.load
    return experiment.seed, -full * experiment.seconds
