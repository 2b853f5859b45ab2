"""Makes the data of docs/virtual-time-truth.md again, in results/virtual.

    python -m benchmarks.truth [theory] [ns3]           half an hour of one processor; needs no root

What was played or run is kept in --kept, and not made again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from harness.jobs import guests
from harness.jobs.carry_out import run_job
from harness.run import make_job
from record.completion_times import select_members
from record.files import write_whole
from record.options import in_words
from record.output import write_csv
from record.progress import tell_user
from record.run import Run, read
from record.spec import RunSpec
from studies.hifi.scene import Flow, Observed, Scene, play_scenes
from studies.hull.packets import parse, run_scenario
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.network import Network
from topos.wire import BARE_FRAME, DEFAULT_MTU, TCP_IP_HEADERS
from traffic.flowfile import record_flows
from traffic.workload import make_workload

# Theory. One flow, two flows, many flows at once, and DCTCP, each on one link, against what arithmetic says.
#
# * Goodput: what the headers leave of the rate (`topos.wire.compute_payload_share`).
# * A full queue: the full frames that fit into it; a round trip through it: one more, which is being sent, and on the
#   sender's link its own.
# * The mean of a sawtooth: the window, and with it the queue, where nothing else delays, grows by a constant per round
#   trip from b W to W and so stands at 2/3 (1 - b^3)/(1 - b^2) W on average: 0.859 W for cubic (b = 0.7, in its region
#   friendly to Reno), 0.778 W for Reno (b = 0.5).
# * Incast: all bytes at the payload rate, and a frame's time on the sender's link before. A transfer of whose last
#   window nothing arrives waits for the least retransmission time, 200 ms, first (RFC 6298; Linux's TCP_RTO_MIN).
# * DCTCP: marks above K frames; the queue stands at K + N at most for N flows (section 3.3 of its paper).

SEEDS = (1, 2, 3, 4, 5)
RATES = (10.0, 100.0, 1000.0, 10_000.0)
LENGTH_S = {10.0: 30.0, 100.0: 10.0, 1000.0: 8.0, 10_000.0: 0.3}
"""How long flows send, by rate; the first third does not count."""
EVERY_S = {10.0: 5e-3, 100.0: 1e-3, 1000.0: 2e-3, 10_000.0: 1e-4}
BLOCK_BYTES = 256_000
"""What each sender of an incast sends."""
APART_S = 2.0
"""From one incast to the next of the same guest."""


def list_scenes() -> Iterator[list[Scene]]:
    """All of them, in groups that share a guest; what takes longest comes last."""
    for mbps in RATES[:3]:
        yield from _make_single(mbps)
        yield [_make_lasting("two", mbps, 2, seed=seed) for seed in SEEDS]
    for queue in (50, 8):
        for senders in (2, 4, 8, 16, 32):
            yield [_make_incast(1000.0, senders, rto_min_ms, queue) for rto_min_ms in (None, 5)]
    for control in ("cubic", "dctcp"):
        more = {"queue_packets": 200, "congestion_control": control}
        yield [_make_lasting("marks", 1000.0, 2, seed=seed, **more) for seed in SEEDS]
    yield from _make_single(RATES[3])
    yield [_make_lasting("two", RATES[3], 2, seed=seed) for seed in SEEDS]


def _make_single(mbps: float) -> Iterator[list[Scene]]:
    """A single flow: behind a faster link (cubic, Reno, packets of 9000 bytes), and on links of one rate."""
    yield [
        _make_lasting("one", mbps, 1, access=10.0),
        _make_lasting("one", mbps, 1, access=10.0, congestion_control="reno"),
        _make_lasting("direct", mbps, 1),
    ]
    yield [_make_lasting("jumbo", mbps, 1, access=10.0, mtu=9000)]


def _make_lasting(kind: str, mbps: float, senders: int, *, seed: int = 1, **more: object) -> Scene:
    length = LENGTH_S[mbps]
    draw = np.random.default_rng([seed, senders])
    starts = draw.uniform(0, 0.05 * length, senders) if senders > 1 else [0.0]
    whole = Scene(name="", mbps=mbps, flows=(), seconds=1, window=(0, 1), **more)  # type: ignore[arg-type]
    size = None if length >= 3 else round(whole.payload_mbps * 1e6 / 8 * length)
    name = "-".join([kind, f"{mbps:g}", *([f"{senders}"] if senders > 2 else []), *map(str, more.values()), str(seed)])
    return Scene(
        name=name,
        mbps=mbps,
        flows=tuple(Flow(n, float(start), size) for n, start in enumerate(starts, start=1)),
        seconds=max(3.0, length),
        window=(length / 3, length),
        seed=seed,
        every_s=EVERY_S[mbps],
        **more,  # type: ignore[arg-type]
    )


def _make_incast(mbps: float, senders: int, rto_min_ms: int | None, queue_packets: int) -> Scene:
    draw = np.random.default_rng([senders])
    flows = tuple(
        Flow(n, APART_S * time + float(draw.uniform(0, 1e-4)), BLOCK_BYTES)
        for time in range(len(SEEDS))
        for n in range(1, senders + 1)
    )
    return Scene(
        name=f"incast-{mbps:g}-{senders}{'' if queue_packets == 50 else '-short'}-{rto_min_ms or 200}ms",
        mbps=mbps,
        flows=flows,
        seconds=APART_S * len(SEEDS),
        window=(0.0, APART_S * len(SEEDS)),
        rto_min_ms=rto_min_ms,
        queue_packets=queue_packets,
        every_s=0.05,
    )


def find_kind(observed: Observed) -> str:
    return observed.scene.name.partition("-")[0]


def describe_lasting(observed: Observed) -> dict[str, Any]:
    """A scene of flows that last. Queues and round trips in ms; ``full_ms``: the queue full of full frames."""
    scene, rates = observed.scene, observed.goodput
    queue = observed.queue_packets * scene.frame_ms
    rtt = np.array([rtt for look in observed.counted for rtt in look.rtt_ms.values()])
    return {
        "kind": find_kind(observed), "mbps": scene.mbps, "mtu": scene.mtu, "queue_packets": scene.queue_packets,
        "congestion_control": scene.congestion_control, "flows": len(scene.flows), "seed": scene.seed,
        "payload_mbps": scene.payload_mbps, "goodput_mbps": float(rates.sum()),
        "least_flow_mbps": float(rates.min()), "most_flow_mbps": float(rates.max()),
        "jain": float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())),
        "full_ms": scene.frames_that_fit * scene.frame_ms, "queue_mean_ms": float(queue.mean()),
        "queue_p1_ms": float(np.percentile(queue, 1)), "queue_p99_ms": float(np.percentile(queue, 99)),
        "queue_max_ms": float(queue.max()), "queue_std_ms": float(queue.std()),
        "rtt_mean_ms": float(rtt.mean()), "rtt_max_ms": float(rtt.max()), "frame_ms": scene.frame_ms,
        "drops": observed.drops, "marked": observed.tcp.get("segments_marked", 0),
        "timeouts": observed.tcp.get("timeouts", 0), "looks": len(queue),
    }  # fmt: skip


def list_incasts(observed: Observed) -> list[dict[str, Any]]:
    """A row for each incast of a scene: all senders' blocks at once. ``ideal_ms``: all bytes at the payload rate, and
    a frame's time on a sender's link before. ``timeouts``: of all of the scene."""
    scene, results = observed.scene, []
    ideal = BLOCK_BYTES * scene.senders * 8e-6 / scene.payload_mbps + scene.frame_ms * 1e-3
    for time in range(len(scene.flows) // scene.senders):
        ours = [flow for flow in observed.flows if time <= flow.start_s / APART_S < time + 1]
        duration_s = max(flow.last for flow in ours) - min(flow.start_s for flow in ours)
        results.append(
            {
                "mbps": scene.mbps, "queue_packets": scene.queue_packets, "senders": scene.senders,
                "rto_min_ms": scene.rto_min_ms or 200, "time": 1 + time, "ideal_ms": 1e3 * ideal,
                "took_ms": 1e3 * duration_s, "goodput_share": ideal / duration_s,
                "median_flow_ms": 1e3 * float(np.median([flow.last - flow.start_s for flow in ours])),
                "retransmissions": sum(flow.retransmissions for flow in ours),
                "timeouts": observed.tcp.get("timeouts", 0),
            }
        )  # fmt: skip
    return results


# ns-3. One recorded workload in a guest and in ns-3, flow by flow, along the same paths.
#
# ns-3's TCP is NewReno on the engine of `packets`. Its hosts have connections before a flow begins, so a guest's flow
# is counted from when it was connected. A segment has 40 bytes of headers there and 66 here: the links are slower by
# what makes a full segment take as long.

Row = dict[str, Any]
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


def run_in_guest(mbps: float, seconds: float, kept: Path) -> Run:
    """The run of a workload, from ``kept`` or now."""
    name = f"ns3-{mbps:g}-{seconds:g}-{TCP}"
    folder, flows = kept / name, (kept / f"{name}.csv").resolve()
    if not (folder / "run.json").exists():
        tell_user(f"{name} ...")
        drawn = make_workload(TRAFFIC, FatTree(4), SEED, seconds=seconds, link_mbps=mbps, scale_sizes=False)
        write_whole(flows, record_flows(drawn.bounded(MAX_FLOWS).blocks()))
        spec = RunSpec(
            "ecmp", f"file:{flows}", seconds=seconds, seed=SEED, link_mbps=mbps, time="virtual", new_flows="controller",
            scale_sizes=False, congestion_control=TCP,
        )  # fmt: skip
        run_job(make_job(spec), folder, guests.Guests(guests.prepare(tell_user), 1))
    return read(folder / "run.json")


def make_scenario(run: Run, topo: Network, drain_s: float = DRAIN_S) -> tuple[list[int], dict[str, Any]]:
    """The engine's, and which of the run's flows it has: those whose path is known, by their start. Flows without an
    end have more to send than their links carry."""
    endless_bytes = round(run.spec.link_mbps * 125e3 * run.spec.seconds)
    flows = [
        n for n, flow in enumerate(run.flows) if flow.paths and (flow.size_bytes is None or flow.connect_s is not None)
    ]
    flows.sort(key=lambda n: run.flows[n].start + (run.flows[n].connect_s or 0.0))
    wire = {"rate_bps": run.spec.link_mbps * 1e6 * RATE_SHARE, "delay_ns": DELAY_NS, "queue_packets": run.spec.queue}
    connections = []
    for n in flows:
        flow = run.flows[n]
        path = topo.path(flow.src, flow.dst, flow.paths[0].core)
        connections.append({"client": path[0], "server": path[-1], "path": list(path[1:-1])})
    starts = [run.flows[n].start + (run.flows[n].connect_s or 0.0) for n in flows]
    begin = OPENED_S - min(starts)
    end = round((begin + run.spec.seconds + drain_s) * 1e9)
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
            "request_bytes": [int(run.flows[n].size_bytes or endless_bytes) for n in flows],
            "reply_bytes": [0] * len(flows),
            "service_ns": [0] * len(flows),
        },
        "samples": [],
    }


def find_times(run: Run) -> tuple[dict[str, Times], Times]:
    """Completion times from the connection on, in the guest, in ns-3, and there with other random numbers and a
    switch that takes up to half a frame's time more for a packet; and sizes."""
    flows, engine_scenario = make_scenario(run, FatTree(run.spec.k))
    keys = {n: (run.flows[n].src, int(run.flows[n].src_port or 0)) for n in flows}
    guest = {
        keys[n]: float(run.flows[n].completion_s or 0.0) - float(run.flows[n].connect_s or 0.0)
        for n in flows
        if run.flows[n].completion_s is not None
    }
    frame_ns = (SEGMENT + BARE_FRAME) * 8e3 / run.spec.link_mbps
    shaken = {**engine_scenario, "seed": engine_scenario["seed"] + 1, "jitter_ns": round(frame_ns / 2)}
    of_each = {"guest": guest}
    for name, each_scenario in (("ns-3", engine_scenario), ("ns-3, shaken", shaken)):
        _, arrays = parse(run_scenario(each_scenario))
        durations_s = (arrays["finished_ns"] - np.array(engine_scenario["exchanges"]["start_ns"])) * 1e-9
        done = arrays["finished_ns"] >= 0
        of_each[name] = {keys[n]: float(s) for n, s, ok in zip(flows, durations_s, done, strict=True) if ok}
    return of_each, {keys[n]: float(run.flows[n].size_bytes or 0) for n in flows}


def make_flow_rows(run: Run, backends: Mapping[str, Times], size_bytes: Times) -> list[Row]:
    """A row for each flow: its completion times where it ended, seconds."""
    columns = dict(zip(("guest_s", "ns3_s", "ns3_shaken_s"), backends.values(), strict=True))
    return [
        {**_describe_links(run), "src": key[0], "src_port": key[1], "size_bytes": size}
        | {name: times.get(key) for name, times in columns.items()}
        for key, size in size_bytes.items()
    ]


def _describe_links(run: Run) -> Row:
    return {"mbps": run.spec.link_mbps, "congestion_control": run.spec.congestion_control}


def compare(run: Run, backends: Mapping[str, Times], size_bytes: Times) -> list[Row]:
    """A row for every two backends and every size class that has flows.

    ``first_alone``, ``second_alone``: flows that ended in that one alone. ``correlation``: of the logarithms of
    completion times. ``median_ratio``: of those of ``first`` over those of ``second``. ``p90_factor``: nine flows in
    ten are within this factor of each other. None where no flow ended in both (no correlation for fewer than three).
    """
    rows = []
    classes = select_members(np.array(list(size_bytes.values()), dtype=np.float64))
    for (first, a), (second, b) in itertools.combinations(backends.items(), 2):
        for name, is_member in classes.items():
            ours = set(itertools.compress(size_bytes, is_member))
            both = sorted(ours & a.keys() & b.keys())
            alone = [len(ours & completed.keys() - other.keys()) for completed, other in ((a, b), (b, a))]
            if both or any(alone):
                ended = {"both": len(both), "first_alone": alone[0], "second_alone": alone[1]}
                statistics = _compute_statistics(np.array([(a[flow], b[flow]) for flow in both]).reshape(-1, 2))
                rows.append(
                    {
                        **_describe_links(run),
                        "first": first,
                        "second": second,
                        "size_class": name,
                        **ended,
                        **statistics,
                    }
                )
    return rows


def _compute_statistics(times: Float64) -> dict[str, float | None]:
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


def make_theory(kept: Path, out: Path) -> list[Path]:
    observed = [scene_played for group in list_scenes() for scene_played in play_scenes(group, kept)]
    at_once = [
        row for scene_played in observed if find_kind(scene_played) == "incast" for row in list_incasts(scene_played)
    ]
    alone = [describe_lasting(scene_played) for scene_played in observed if find_kind(scene_played) != "incast"]
    return [write_csv(out / "lasting.csv", alone), write_csv(out / "incast.csv", at_once)]


def make_ns3(kept: Path, out: Path) -> list[Path]:
    rows, flows = [], []
    for work in WORKLOADS:
        run = run_in_guest(*work, kept)
        completion, sizes = find_times(run)
        rows += compare(run, completion, sizes)
        flows += make_flow_rows(run, completion, sizes)
    return [write_csv(out / "ns3.csv", rows), write_csv(out / "ns3_flows.csv", flows)]


PARTS = {"theory": make_theory, "ns3": make_ns3}


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS]), metavar="[PART ...]")
@click.option("--kept", type=click.Path(path_type=Path), default=Path("results/runs/truth"), show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/runs/truth"), show_default=True)
@in_words
def main(parts: tuple[str, ...], kept: Path, out: Path) -> None:
    for part in parts or PARTS:
        for file in PARTS[part](kept, out):
            click.echo(file)


if __name__ == "__main__":
    main()
