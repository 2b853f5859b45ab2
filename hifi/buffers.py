"""How small a buffer can be: long flows over one link with a long delay (CoNEXT '12, section 5.3).

Appenzeller, Keslassy and McKeown (SIGCOMM '04): RTT C / sqrt(n) is enough for n flows. Spang, Arslan and McKeown
(IFIP Networking '21): one flow has min(beta (1 + B / (RTT C)), 1) of the link; beta, the share of the window that
remains after a loss, is 0.5 for Reno and 717/1024 for cubic in Linux.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hifi.scene import Flow, Scene, Seen, Told, packets_for

MTU = 1500
CONTROLS = ("reno", "cubic")
TARGETS = (0.98, 0.99, 0.999)
FLOWS = (10, 50, 200)
RULE_FOR = 0.98
"""The share of the link that Mininet-HiFi's script requires."""
ONE_FLOW_SHARES = (0.1, 0.25, 0.43, 0.7, 1.0)
FINE = 1.15
"""The search ends when the smallest sufficient buffer is at most this many times the largest insufficient one."""
MOST_SENDERS = 10
FIGURE_15 = (
    *((100, 64, 94.7, 94.9), (100, 129, 99.3, 98.1), (100, 258, 99.9, 99.8), (100, 387, 99.8, 99.7)),
    *((200, 46, 97.0, 98.6), (200, 91, 99.2, 99.7), (200, 182, 99.8, 99.8), (200, 273, 100, 99.8)),
    *((300, 37, 98.6, 99.6), (300, 74, 99.3, 99.8), (300, 148, 99.9, 99.8), (300, 222, 99.8, 100)),
    *((400, 32, 99.2, 99.5), (400, 64, 99.8, 100), (400, 128, 100, 100), (400, 192, 100, 99.9)),
)
"""Appenzeller's: flows, buffer in packets, and utilisation in % in ns-2 and in the router."""
CELL_POINTS = 1.0
"""How far a cell may be from ns-2's or the router's number, in points."""


class Link(NamedTuple):
    """The bottleneck: Mb/s, and the round trip without queues, ms."""

    name: str
    mbps: float
    rtt_ms: float

    @property
    def product(self) -> int:
        return round(self.mbps * 1e3 * self.rtt_ms / (8 * MTU))

    def rule(self, flows: int) -> float:
        """RTT C / sqrt(n), in packets."""
        return self.product / math.sqrt(flows)


HIFI = Link("hifi", 62.5, 87.0)
"""Los Angeles to Houston; RTT C is 453 packets."""
APPENZELLER = Link("appenzeller", 155.0, 99.94)
"""Figure 15's OC3: RTT C is 1,291 packets."""


Row = dict[str, Any]


class Times(NamedTuple):
    """Seconds of warm-up, which do not count, and seconds that count."""

    before: float
    counted: float


SEARCH, ONE_FLOW, CELLS = Times(30, 30), Times(60, 180), Times(10, 20)
QUICK = Times(8, 12)


def scene(link: Link, flows: int, control: str, buffer: int, times: Times, seed: int = 1) -> Scene:
    senders, end = min(flows, MOST_SENDERS), times.before + times.counted
    starts = np.random.default_rng([seed, flows]).uniform(0, min(4.0, times.before / 2), flows)
    return Scene(
        name=f"buffer-{link.name}-{flows}-{control}-{buffer}-{end:g}s-{seed}",
        mbps=link.mbps,
        flows=tuple(Flow(1 + n % senders, float(start)) for n, start in enumerate(sorted(starts))),
        seconds=end,
        window=(times.before, end),
        seed=seed,
        access=10.0,
        queue_packets=packets_for(buffer),
        congestion_control=control,
        every_s=0.02,
        delay_ms=link.rtt_ms / 2,
        round_trips=False,
        wake=0.1,  # if it were longer, sinks would keep the receive windows small
    )


def point(link: Link, seen: Seen) -> Row:
    """The result of a scene: the utilisation of the port, as a share of its rate, between warm-up and end."""
    told, one = Told(seen), seen.scene
    return {
        "link": link.name,
        "mbps": link.mbps,
        "rtt_ms": link.rtt_ms,
        "flows": len(one.flows),
        "congestion_control": one.congestion_control,
        "buffer": one.frames_that_fit,
        "seed": one.seed,
        "seconds": one.seconds,
        "utilisation": told.utilisation,
        "queue_mean": float(told.queue_packets.mean()),
        "drops": seen.drops,
        "timeouts": seen.tcp.get("timeouts", 0),
    }


Play = Callable[[Sequence[Scene]], Iterable[Seen]]


class Search:
    """A search for the smallest buffer with which a number of flows reaches a share of the link, by bisection of
    logarithms."""

    def __init__(self, link: Link, flows: int, control: str, target: float) -> None:
        self.link, self.flows, self.control, self.target = link, flows, control, target
        self.enough, self.short = 2 * link.product, 1

    @property
    def next(self) -> int | None:
        """The buffer to try next; None when the search is over."""
        if self.enough <= max(self.short + 1, FINE * self.short):
            return None
        return min(max(round(math.sqrt(self.enough * self.short)), self.short + 1), self.enough - 1)

    def saw(self, buffer: int, utilisation: float) -> None:
        if utilisation >= self.target:
            self.enough = min(self.enough, buffer)
        else:
            self.short = max(self.short, buffer)

    @property
    def found(self) -> Row:
        """The smallest buffer found to reach ``target``, packets; ``short``: the largest that did not (1: none)."""
        which = {"link": self.link.name, "flows": self.flows, "congestion_control": self.control}
        buffers = {"target": self.target, "least": self.enough, "short": self.short}
        return {**which, **buffers, "rule": self.link.rule(self.flows), "product": self.link.product}


def search(link: Link, searches: Sequence[Search], times: Times, play: Play) -> list[Row]:
    """Make all searches, one step of each at a time, so that the steps share a guest; returns the points tried."""
    points: dict[tuple[int, str, int], Row] = {}
    while steps := [(one, size) for one in searches if (size := one.next) is not None]:
        asked = {(one.flows, one.control, size) for one, size in steps}
        for seen in play([scene(link, *key, times) for key in sorted(asked - points.keys())]):
            made = point(link, seen)
            points[made["flows"], made["congestion_control"], made["buffer"]] = made
        for one, size in steps:
            one.saw(size, points[one.flows, one.control, size]["utilisation"])
    return list(points.values())


def published_points(play: Play) -> list[Row]:
    """One flow with buffers of several shares of RTT C, as Spang's, and Appenzeller's cells, Reno."""
    buffers = [round(share * HIFI.product) for share in ONE_FLOW_SHARES]
    single = [scene(HIFI, 1, control, buffer, ONE_FLOW) for control in CONTROLS for buffer in buffers]
    cells = [scene(APPENZELLER, flows, "reno", buffer, CELLS) for flows, buffer, *_ in FIGURE_15]
    return [point(link, seen) for link, asked in ((HIFI, single), (APPENZELLER, cells)) for seen in play(asked)]


def missed(found: Sequence[Row], points: Sequence[Row]) -> list[str]:
    """Sentences on what is not as published: a buffer above RTT C / sqrt(n) for 98 %, and Appenzeller's cells that are
    further than a point from both ns-2's and the router's number."""
    said = [
        "{congestion_control}, {flows} flows: {least} packets for {target:.0%}, not {rule:.0f}".format(**one)
        for one in found
        if one["target"] == RULE_FOR and one["least"] > one["rule"]
    ]
    cells = {(flows, buffer): theirs for flows, buffer, *theirs in FIGURE_15}
    for ours in points:
        percent, theirs = 100 * ours["utilisation"], cells.get((ours["flows"], ours["buffer"]), ())
        if ours["link"] == APPENZELLER.name and theirs and min(abs(percent - one) for one in theirs) > CELL_POINTS:
            what = "{flows} flows, {buffer} packets, {congestion_control}".format(**ours)
            said.append(f"{what}: {percent:.1f} %, ns-2 {theirs[0]:g}, router {theirs[1]:g}")
    return said
