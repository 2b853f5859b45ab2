"""One recorded workload in a guest and in ns-3, flow by flow, along the same paths.

ns-3's TCP is NewReno on the engine of `packets`. Its hosts have connections before a flow begins, so a guest's flow
is counted from when it was connected. A segment has 40 bytes of headers there and 66 here: the links are slower by
what makes a full segment take as long.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.jobs import guests
from harness.jobs.guests import Ground
from harness.jobs.loop import run as run_job
from harness.run.spec import RunSpec
from packets.result import parse
from packets.run import run_scenario
from results.record import Run, read
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.network import Network
from topos.wire import BARE_FRAME, DEFAULT_MTU, TCP_IP_HEADERS
from traffic.completion import members
from traffic.flowfile import write_flows
from traffic.workload import workload

OPENED_S = 2.0
"""In ns-3 all connections are opened before this."""
NS3_HEADERS = 40
DELAY_NS = 100
"""Of a cable. Emulated ones have none; ns-3's events must not all fall together."""
SEGMENT = DEFAULT_MTU - TCP_IP_HEADERS
RATE_SHARE = (SEGMENT + NS3_HEADERS) / (SEGMENT + BARE_FRAME)
DRAIN_S = 60.0
MAX_FLOWS = 100_000
Times = dict[tuple[int, int], float]
"""Completion times in seconds, or sizes in bytes, by sending host and source port."""


@dataclass(frozen=True)
class Workload:
    """What is recorded, and run with a TCP."""

    mbps: float
    seconds: float
    congestion_control: str
    scheme: str = "ecmp"
    traffic: str = "poisson:web-search,0.5"
    seed: int = 1

    @property
    def name(self) -> str:
        return f"ns3-{self.mbps:g}-{self.seconds:g}-{self.congestion_control}"


WORKLOADS = (Workload(10.0, 60.0, "reno"), Workload(100.0, 10.0, "reno"))


def in_guest(asked: Workload, ground: Ground | None, kept: Path) -> Run | None:
    """The run, from ``kept`` or now; without a ``ground`` None where there is none."""
    folder = kept / asked.name
    if not (folder / "run.json").exists():
        if ground is None:
            return None
        print(f"{asked.name} ...", file=sys.stderr)
        flows = (kept / f"{asked.name}.csv").resolve()
        drawn = workload(
            asked.traffic, FatTree(4), asked.seed, seconds=asked.seconds, link_mbps=asked.mbps, scale_sizes=False
        )
        write_flows(flows, drawn.bounded(MAX_FLOWS).blocks())
        spec = RunSpec(
            asked.scheme,
            f"file:{flows}",
            seconds=asked.seconds,
            seed=asked.seed,
            link_mbps=asked.mbps,
            time="virtual",
            new_flows="controller",
            scale_sizes=False,
            congestion_control=asked.congestion_control,
        )
        run_job(spec, folder, guests.Guests(ground, 1))
    return read(folder / "run.json")


def scenario(run: Run, topo: Network) -> tuple[list[int], dict[str, Any]]:
    """The engine's, and which of the run's flows it has: those whose path is known, by their start."""
    flows = [n for n, flow in enumerate(run.flows) if flow.paths and flow.connect_s is not None]
    flows.sort(key=lambda n: run.flows[n].start + (run.flows[n].connect_s or 0.0))
    wire = {"rate_bps": run.spec.link_mbps * 1e6 * RATE_SHARE, "delay_ns": DELAY_NS, "queue_packets": run.spec.queue}
    connections = []
    for n in flows:
        flow = run.flows[n]
        path = topo.path(flow.src, flow.dst, flow.paths[0].core)
        connections.append({"client": path[0], "server": path[-1], "path": list(path[1:-1])})
    starts = [run.flows[n].start + (run.flows[n].connect_s or 0.0) for n in flows]
    begin = OPENED_S - min(starts)
    end = round((begin + run.spec.seconds + DRAIN_S) * 1e9)
    return flows, {
        "seed": 1 + run.seed,
        "measure_from_ns": 0,
        "measure_until_ns": end,
        "end_ns": end,
        "hosts": list(topo.hosts),
        "switches": list(topo.switches),
        "links": [
            {"from": a, "to": b, **wire}
            for link in topo.links()
            for a, b in ((link.lower, link.upper), (link.upper, link.lower))
        ],
        "tcp": {
            "variant": "reno",
            "segment_bytes": SEGMENT,
            "window_segments": 2000,
            "initial_segments": 10,
            "least_segments": 2,
            "min_rto_ns": 200_000_000,
            "idle_ns": 0,
            "g": 0.0625,
            "start_alpha": 1.0,
            "sack": True,
        },
        "connections": connections,
        "exchanges": {
            "connection": list(range(len(flows))),
            "start_ns": [round((begin + start) * 1e9) for start in starts],
            "request_bytes": [int(run.flows[n].size_bytes or 1) for n in flows],
            "reply_bytes": [0] * len(flows),
            "service_ns": [0] * len(flows),
        },
        "samples": [],
    }


def times(run: Run, topo: Network) -> tuple[dict[str, Times], Times]:
    """Completion times from the connection on, in the guest, in ns-3, and there with other random numbers and a
    switch that takes up to half a frame's time more for a packet; and sizes."""
    flows, asked = scenario(run, topo)
    keys = {n: (run.flows[n].src, int(run.flows[n].src_port or 0)) for n in flows}
    guest = {
        keys[n]: float(run.flows[n].completion_s or 0.0) - float(run.flows[n].connect_s or 0.0)
        for n in flows
        if run.flows[n].completion_s is not None
    }
    frame_ns = (SEGMENT + BARE_FRAME) * 8e3 / run.spec.link_mbps
    shaken = {**asked, "seed": asked["seed"] + 1, "jitter_ns": round(frame_ns / 2)}
    found = {"guest": guest}
    for name, one in (("ns-3", asked), ("ns-3, shaken", shaken)):
        _, arrays = parse(run_scenario(one))
        took = (arrays["finished_ns"] - np.array(asked["exchanges"]["start_ns"])) * 1e-9
        done = arrays["finished_ns"] >= 0
        found[name] = {keys[n]: float(s) for n, s, ok in zip(flows, took, done, strict=True) if ok}
    return found, {keys[n]: float(run.flows[n].size_bytes or 0) for n in flows}


@dataclass(frozen=True)
class Row:
    """Two backends and a size class. ``first_alone``, ``second_alone``: flows that ended in that one alone.

    ``correlation``: of the logarithms of completion times. ``median_ratio``: of those of ``first`` over those of
    ``second``. ``p90_factor``: nine flows in ten are within this factor of each other. None where no flow ended
    in both (no correlation for fewer than three).
    """

    mbps: float
    congestion_control: str
    first: str
    second: str
    size_class: str
    both: int
    first_alone: int
    second_alone: int
    correlation: float | None = None
    median_ratio: float | None = None
    p10_ratio: float | None = None
    p90_ratio: float | None = None
    p90_factor: float | None = None


@dataclass(frozen=True)
class Flow:
    """A flow, and its completion times where it ended; seconds."""

    mbps: float
    congestion_control: str
    src: int
    src_port: int
    size_bytes: float
    guest_s: float | None
    ns3_s: float | None
    ns3_shaken_s: float | None


def compare(work: Workload, backends: Mapping[str, Times], size_bytes: Times) -> list[Row]:
    """A row for every two of them and every size class that has flows."""
    rows = []
    classes = members(np.array(list(size_bytes.values()), dtype=np.float64))
    for (first, a), (second, b) in itertools.combinations(backends.items(), 2):
        for name, which in classes.items():
            ours = set(itertools.compress(size_bytes, which))
            both = sorted(ours & a.keys() & b.keys())
            alone = [len(ours & one.keys() - other.keys()) for one, other in ((a, b), (b, a))]
            if both or any(alone):
                told = _statistics(np.array([(a[flow], b[flow]) for flow in both]).reshape(-1, 2))
                rows.append(Row(work.mbps, work.congestion_control, first, second, name, len(both), *alone, *told))
    return rows


def _statistics(times: Float64) -> list[float | None]:
    """What a `Row` says of completion times in two backends, float64 (flows, 2)."""
    if not len(times):
        return []
    logs = np.log(times)
    varies = len(times) >= 3 and bool((np.ptp(logs, axis=0) > 0).all())
    apart = logs[:, 0] - logs[:, 1]
    quantiles = np.exp(np.quantile(apart, (0.5, 0.1, 0.9))).tolist()
    factor = float(np.exp(np.quantile(np.abs(apart), 0.9)))
    return [float(np.corrcoef(logs.T)[0, 1]) if varies else None, *quantiles, factor]
