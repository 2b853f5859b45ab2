"""What scheduling costs: the controller's work, how soon it acts, and what moving a flow does to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.run.controller import Event
from harness.run.observation import Observation
from harness.verdict.flows import MeasuredFlow

COUNTED = ("processor_s", "packet_ins", "packet_outs", "flow_mods", "statistics_requests", "statistics_bytes")
BACK = 0.9
"""A flow that was moved has its rate back in the first second in which it has this share of what it had before."""
BEFORE_S = 2.0


def costs(seen: Observation, flows: Sequence[MeasuredFlow], seconds: float) -> dict[str, float]:
    """By name, for the result; what could not be seen is left out. ``seconds``: how long the traffic lasted."""
    found: dict[str, float] = {
        **_controller(seen.events, seen.begin, seconds),
        **{name: int(count) for name, count in sorted(seen.tcp.items())},
    }
    if any(event["event"] == "round" for event in seen.events):
        found |= _reactions(seen, flows)
    return found


def _controller(events: Sequence[Event], begin: float, seconds: float) -> dict[str, float]:
    """What the controller did while the traffic ran. One that was started again has counted from 0 again."""
    alive = [
        event
        for event in events
        if event["event"] == "alive" and all(isinstance(event.get(name), (int, float)) for name in COUNTED)
    ]
    before = [event for event in alive if event["t"] <= begin]
    within = [event for event in alive if begin < event["t"] <= begin + seconds + 1]
    if not before or not within:
        return {}
    total = dict.fromkeys(COUNTED, 0.0)
    last = before[-1]
    for event in within:
        for name in COUNTED:
            total[name] += event[name] - (last[name] if event[name] >= last[name] else 0)
        last = event
    lasted = within[-1]["t"] - before[-1]["t"]
    return {
        "controller_percent": round(total["processor_s"] / lasted * 100, 2),
        **{f"{name}_per_s": round(total[name] / lasted, 3) for name in COUNTED[1:]},
    }


def _reactions(seen: Observation, flows: Sequence[MeasuredFlow]) -> dict[str, float]:
    """How long after its start a large flow was found to be one, and how long until it went another way; for how many
    seconds after that it had less than before. Medians, over the flows concerned."""
    by_key: dict[int, tuple[int, int, int]] = {}
    for event in seen.events:
        if event["event"] == "flow":
            by_key[event["key"]] = (event["src"], event["dst"], event["src_port"])
    here = {(one.routed.src, one.routed.dst, one.src_port): one for one in flows}
    found: dict[int, float] = {}
    moved: dict[int, list[float]] = {}
    for event in seen.events:
        t = event["t"] - seen.begin
        if event["event"] == "round":
            polled = t - event["compute_s"] - event["install_s"]  # it is logged when all is done
            for large in event.get("large_flows", ()):
                found.setdefault(large["key"], polled)
        elif event["event"] == "reroute" and event.get("round") is not None:
            moved.setdefault(event["key"], []).append(t)
    detect = [t - here[by_key[key]].start for key, t in found.items() if by_key.get(key) in here]
    moves = [ts[0] - here[by_key[key]].start for key, ts in moved.items() if by_key.get(key) in here]
    back = [
        took
        for key, ts in moved.items()
        if by_key.get(key) in here
        for t in ts
        if (took := _back_after(here[by_key[key]], t)) is not None
    ]
    again = {True: [0, 0], False: [0, 0]}
    keys_of = {ends: key for key, ends in by_key.items()}
    for ends, one in here.items():
        if one.retransmissions is not None and one.intervals:
            sums = again[keys_of.get(ends) in moved]
            sums[0] += one.retransmissions
            sums[1] += round(sum(mbps * (end - begin) for begin, end, mbps in one.intervals) * 1e6 / 8)
    per_mbyte = {
        name: round(again[which][0] / again[which][1] * 1e6, 4)
        for which, name in ((True, "moved"), (False, "unmoved"))
        if again[which][1]
    }
    return {
        "moved_flows": len(moves),
        "moves": sum(map(len, moved.values())),
        **({"detected_after_s": round(float(np.median(detect)), 3)} if detect else {}),
        **({"moved_after_s": round(float(np.median(moves)), 3)} if moves else {}),
        **({"rate_back_after_s": round(float(np.median(back)), 3)} if back else {}),
        **{f"retransmissions_per_mbyte_{name}": value for name, value in per_mbyte.items()},
    }


def _back_after(flow: MeasuredFlow, moved: float) -> float | None:
    """Seconds from a move until the flow had a second with BACK of what it had in the BEFORE_S before.

    None when it was too young then, or never had.
    """
    if moved - flow.start < BEFORE_S:
        return None
    before = flow.mbit((moved - BEFORE_S, moved)) / BEFORE_S
    for begin, _, mbps in flow.intervals:
        if begin >= moved and mbps >= BACK * before:
            return begin - moved
    return None
