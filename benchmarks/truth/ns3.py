"""One recorded workload in a guest and in ns-3, flow by flow, along the same paths.

ns-3's TCP is NewReno on the engine of `packets`. Its hosts have connections before a flow begins, so a guest's flow
is counted from when it was connected. A segment has 40 bytes of headers there and 66 here: the links are slower by
what makes a full segment take as long.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.cli.options import tell_user
from harness.jobs import guests
from harness.jobs.job import job_of
from harness.jobs.publish import run as run_job
from harness.run.spec import RunSpec
from record.completion import members
from record.files import write_whole
from record.run import Run, read
from studies.hull.packets import parse, run_scenario
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.network import Network
from topos.wire import BARE_FRAME, DEFAULT_MTU, TCP_IP_HEADERS
from traffic.flowfile import recorded
from traffic.workload import workload

TRAFFIC, SEED, TCP = "poisson:web-search,0.5", 1, "reno"
WORKLOADS = ((10.0, 60.0), (100.0, 10.0))
"""What is recorded: Mb/s, and seconds."""
OPENED_S = 2.0
"""In ns-3 all connections are opened before this."""
NS3_HEADERS = 40
DELAY_NS = 100
"""Of a cable. Emulated ones have none; ns-3's events must not all fall together."""
SEGMENT = DEFAULT_MTU - TCP_IP_HEADERS
RATE_SHARE = (SEGMENT + NS3_HEADERS) / (SEGMENT + BARE_FRAME)
RENO = {
    "variant": TCP, "segment_bytes": SEGMENT, "window_segments": 2000, "initial_segments": 10, "least_segments": 2,
    "min_rto_ns": 200_000_000, "idle_ns": 0, "g": 0.0625, "start_alpha": 1.0, "sack": True,
}  # fmt: skip
DRAIN_S = 60.0
MAX_FLOWS = 100_000
Times = dict[tuple[int, int], float]
"""Completion times in seconds, or sizes in bytes, by sending host and source port."""


def in_guest(mbps: float, seconds: float, kept: Path) -> Run:
    """The run of a workload, from ``kept`` or now."""
    name = f"ns3-{mbps:g}-{seconds:g}-{TCP}"
    folder, flows = kept / name, (kept / f"{name}.csv").resolve()
    if not (folder / "run.json").exists():
        tell_user(f"{name} ...")
        drawn = workload(TRAFFIC, FatTree(4), SEED, seconds=seconds, link_mbps=mbps, scale_sizes=False)
        write_whole(flows, recorded(drawn.bounded(MAX_FLOWS).blocks()))
        spec = RunSpec(
            "ecmp", f"file:{flows}", seconds=seconds, seed=SEED, link_mbps=mbps, time="virtual", new_flows="controller",
            scale_sizes=False, congestion_control=TCP,
        )  # fmt: skip
        run_job(job_of(spec), folder, guests.Guests(guests.prepare(tell_user), 1))
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
        "tcp": RENO,
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


def times(run: Run) -> tuple[dict[str, Times], Times]:
    """Completion times from the connection on, in the guest, in ns-3, and there with other random numbers and a
    switch that takes up to half a frame's time more for a packet; and sizes."""
    flows, asked = scenario(run, FatTree(run.spec.k))
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


Row = dict[str, Any]


def flows(run: Run, backends: Mapping[str, Times], size_bytes: Times) -> list[Row]:
    """A row for each flow: its completion times where it ended, seconds."""
    columns = dict(zip(("guest_s", "ns3_s", "ns3_shaken_s"), backends.values(), strict=True))
    return [
        {**_where(run), "src": key[0], "src_port": key[1], "size_bytes": size}
        | {name: took.get(key) for name, took in columns.items()}
        for key, size in size_bytes.items()
    ]


def _where(run: Run) -> Row:
    return {"mbps": run.spec.link_mbps, "congestion_control": run.spec.congestion_control}


def compare(run: Run, backends: Mapping[str, Times], size_bytes: Times) -> list[Row]:
    """A row for every two backends and every size class that has flows.

    ``first_alone``, ``second_alone``: flows that ended in that one alone. ``correlation``: of the logarithms of
    completion times. ``median_ratio``: of those of ``first`` over those of ``second``. ``p90_factor``: nine flows in
    ten are within this factor of each other. None where no flow ended in both (no correlation for fewer than three).
    """
    rows = []
    classes = members(np.array(list(size_bytes.values()), dtype=np.float64))
    for (first, a), (second, b) in itertools.combinations(backends.items(), 2):
        for name, which in classes.items():
            ours = set(itertools.compress(size_bytes, which))
            both = sorted(ours & a.keys() & b.keys())
            alone = [len(ours & one.keys() - other.keys()) for one, other in ((a, b), (b, a))]
            if both or any(alone):
                ended = {"both": len(both), "first_alone": alone[0], "second_alone": alone[1]}
                told = _statistics(np.array([(a[flow], b[flow]) for flow in both]).reshape(-1, 2))
                rows.append({**_where(run), "first": first, "second": second, "size_class": name, **ended, **told})
    return rows


def _statistics(times: Float64) -> dict[str, float | None]:
    """Of completion times in two backends, float64 (flows, 2)."""
    names = ("correlation", "median_ratio", "p10_ratio", "p90_ratio", "p90_factor")
    if not len(times):
        return dict.fromkeys(names)
    logs = np.log(times)
    varies = len(times) >= 3 and bool((np.ptp(logs, axis=0) > 0).all())
    apart = logs[:, 0] - logs[:, 1]
    quantiles = np.exp(np.quantile(apart, (0.5, 0.1, 0.9))).tolist()
    factor = float(np.exp(np.quantile(np.abs(apart), 0.9)))
    correlation = float(np.corrcoef(logs.T)[0, 1]) if varies else None
    return dict(zip(names, (correlation, *quantiles, factor), strict=True))
