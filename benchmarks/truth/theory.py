"""One flow, two flows, many flows at once, and DCTCP, each on one link, against what arithmetic says.

* Goodput: what the headers leave of the rate (`topos.wire.payload_share`).
* A full queue: the full frames that fit into it; a round trip through it: one more, which is being sent, and on the
  sender's link its own.
* The mean of a sawtooth: the window, and with it the queue, where nothing else delays, grows by a constant per round
  trip from b W to W and so stands at 2/3 (1 - b^3)/(1 - b^2) W on average: 0.859 W for cubic (b = 0.7, in its region
  friendly to Reno), 0.778 W for Reno (b = 0.5).
* Incast: all bytes at the payload rate, and a frame's time on the sender's link before. A transfer of whose last
  window nothing arrives waits for the least retransmission time, 200 ms, first (RFC 6298; Linux's TCP_RTO_MIN).
* DCTCP: marks above K frames; the queue stands at K + N at most for N flows (section 3.3 of its paper).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from studies.hifi.scene import Flow, Scene, Seen

SEEDS = (1, 2, 3, 4, 5)
RATES = (10.0, 100.0, 1000.0, 10_000.0)
LENGTH_S = {10.0: 30.0, 100.0: 10.0, 1000.0: 1.2, 10_000.0: 0.3}
"""How long flows send, by rate; the first third does not count."""
EVERY_S = {10.0: 5e-3, 100.0: 1e-3, 1000.0: 5e-4, 10_000.0: 1e-4}
BLOCK_BYTES = 256_000
"""What each sender of an incast sends."""
APART_S = 2.0
"""From one incast to the next of the same guest."""


def scenes() -> Iterator[list[Scene]]:
    """All of them, in groups that share a guest; what takes longest comes last."""
    for mbps in RATES[:3]:
        yield from _one(mbps)
        yield [_lasting("two", mbps, 2, seed=seed) for seed in SEEDS]
    for queue in (50, 8):
        for senders in (2, 4, 8, 16, 32):
            yield [_incast(1000.0, senders, rto_min_ms, queue) for rto_min_ms in (None, 5)]
    for control in ("cubic", "dctcp"):
        more = {"queue_packets": 200, "congestion_control": control}
        yield [_lasting("marks", 1000.0, 2, seed=seed, **more) for seed in SEEDS]
    yield from _one(RATES[3])
    yield [_lasting("two", RATES[3], 2, seed=seed) for seed in SEEDS]


def _one(mbps: float) -> Iterator[list[Scene]]:
    """A single flow: behind a faster link (cubic, Reno, packets of 9000 bytes), and on links of one rate."""
    yield [
        _lasting("one", mbps, 1, access=10.0),
        _lasting("one", mbps, 1, access=10.0, congestion_control="reno"),
        _lasting("direct", mbps, 1),
    ]
    yield [_lasting("jumbo", mbps, 1, access=10.0, mtu=9000)]


def _lasting(kind: str, mbps: float, senders: int, *, seed: int = 1, **more: object) -> Scene:
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


def _incast(mbps: float, senders: int, rto_min_ms: int | None, queue_packets: int) -> Scene:
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


def kind(seen: Seen) -> str:
    return seen.scene.name.partition("-")[0]


def lasting(seen: Seen) -> dict[str, Any]:
    """A scene of flows that last. Queues and round trips in ms; ``full_ms``: the queue full of full frames."""
    scene, rates = seen.scene, seen.goodput
    queue = seen.queue_packets * scene.frame_ms
    rtt = np.array([rtt for look in seen.counted for rtt in look.rtt_ms.values()])
    return {
        "kind": kind(seen), "mbps": scene.mbps, "mtu": scene.mtu, "queue_packets": scene.queue_packets,
        "congestion_control": scene.congestion_control, "flows": len(scene.flows), "seed": scene.seed,
        "payload_mbps": scene.payload_mbps, "goodput_mbps": float(rates.sum()),
        "least_flow_mbps": float(rates.min()), "most_flow_mbps": float(rates.max()),
        "jain": float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())),
        "full_ms": scene.frames_that_fit * scene.frame_ms, "queue_mean_ms": float(queue.mean()),
        "queue_p1_ms": float(np.percentile(queue, 1)), "queue_p99_ms": float(np.percentile(queue, 99)),
        "queue_max_ms": float(queue.max()), "queue_std_ms": float(queue.std()),
        "rtt_mean_ms": float(rtt.mean()), "rtt_max_ms": float(rtt.max()), "frame_ms": scene.frame_ms,
        "drops": seen.drops, "marked": seen.tcp.get("segments_marked", 0),
        "timeouts": seen.tcp.get("timeouts", 0), "looks": len(queue),
    }  # fmt: skip


def incasts(seen: Seen) -> list[dict[str, Any]]:
    """A row for each incast of a scene: all senders' blocks at once. ``ideal_ms``: all bytes at the payload rate, and
    a frame's time on a sender's link before. ``timeouts``: of all of the scene."""
    scene, found = seen.scene, []
    ideal = BLOCK_BYTES * scene.senders * 8e-6 / scene.payload_mbps + scene.frame_ms * 1e-3
    for time in range(len(scene.flows) // scene.senders):
        ours = [flow for flow in seen.flows if time <= flow.start_s / APART_S < time + 1]
        took = max(flow.last for flow in ours) - min(flow.start_s for flow in ours)
        found.append(
            {
                "mbps": scene.mbps, "queue_packets": scene.queue_packets, "senders": scene.senders,
                "rto_min_ms": scene.rto_min_ms or 200, "time": 1 + time, "ideal_ms": 1e3 * ideal,
                "took_ms": 1e3 * took, "goodput_share": ideal / took,
                "median_flow_ms": 1e3 * float(np.median([flow.last - flow.start_s for flow in ours])),
                "retransmissions": sum(flow.retransmissions for flow in ours),
                "timeouts": seen.tcp.get("timeouts", 0),
            }
        )  # fmt: skip
    return found
