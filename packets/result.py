"""The result of a run: read from the engine, reduced to what figures need, kept in one file, written atomically."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from packets.experiment import Experiment
from packets.workload import FAN_OUTS, LARGE, QUERY, SMALL, Traffic
from results.files import write_whole
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
