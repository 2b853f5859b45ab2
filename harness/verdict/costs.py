"""What scheduling costs: the controller's work, and how soon it acts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from harness.run.controller import Event
from harness.run.observation import Observation
from harness.verdict.flows import MeasuredFlow

COUNTED = ("processor_s", "packet_ins", "packet_outs", "flow_mods", "statistics_requests", "statistics_bytes")


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
    told = [before[-1], *within]
    lasted = told[-1]["t"] - told[0]["t"]
    total = {
        name: sum(b[name] - (a[name] if b[name] >= a[name] else 0) for a, b in pairwise(told)) / lasted
        for name in COUNTED
    }
    return {
        "controller_percent": round(total["processor_s"] * 100, 2),
        **{f"{name}_per_s": round(total[name], 3) for name in COUNTED[1:]},
    }


def _reactions(seen: Observation, flows: Sequence[MeasuredFlow]) -> dict[str, float]:
    """How long after its start a large flow was found to be one, and how long until it went another way. Medians, over
    the flows concerned."""
    by_ends = {one.ends: one for one in flows}
    placed = {e["key"]: (e["src"], e["dst"], e["src_port"]) for e in seen.events if e["event"] == "flow"}
    of_key = {key: by_ends[ends] for key, ends in placed.items() if ends in by_ends}
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
    ours = {key: times for key, times in moved.items() if key in of_key}
    medians = {
        "detected_after_s": [t - of_key[key].start for key, t in found.items() if key in of_key],
        "moved_after_s": [times[0] - of_key[key].start for key, times in ours.items()],
    }
    told: dict[str, float] = {"moved_flows": len(ours), "moves": sum(map(len, moved.values()))}
    told |= {name: round(median(values), 3) for name, values in medians.items() if values}
    return told
