"""How small a buffer can be: long flows over one link with a long delay (CoNEXT '12, section 5.3).

Appenzeller, Keslassy and McKeown (SIGCOMM '04): RTT C / sqrt(n) is enough for n flows. Spang, Arslan and McKeown
(IFIP Networking '21): one flow has min(beta (1 + B / (RTT C)), 1) of the link.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.scenes.scene import Flow, Scene, Seen, Told, packets_for

MTU = 1500
CONTROLS = ("reno", "cubic")
BETA = {"reno": 0.5, "cubic": 717 / 1024}
"""The share of the window that remains after a loss, in Linux."""
TARGETS = (0.98, 0.99, 0.999)
FLOWS = (10, 50, 200)
RULE_FOR = 0.98
"""The share of the link that Mininet-HiFi's script requires."""
ONE_FLOW_SHARES = (0.1, 0.25, 0.43, 0.7, 1.0)
FINE = 1.15
"""The search ends when the smallest sufficient buffer is at most this many times the largest insufficient one."""
MOST_SENDERS = 10


@dataclass(frozen=True)
class Link:
    """The bottleneck: Mb/s, and the round trip without queues, ms."""

    name: str
    mbps: float
    rtt_ms: float

    @property
    def product(self) -> int:
        """RTT C, in packets."""
        return round(self.mbps * 1e3 * self.rtt_ms / (8 * MTU))

    def rule(self, flows: int) -> float:
        """RTT C / sqrt(n), in packets."""
        return self.product / math.sqrt(flows)


HIFI = Link("hifi", 62.5, 87.0)
"""Los Angeles to Houston; RTT C is 453 packets."""
APPENZELLER = Link("appenzeller", 155.0, 99.94)
"""Figure 15's OC3: RTT C is 1,291 packets."""


@dataclass(frozen=True)
class Cell:
    """One of Appenzeller's Figure 15: a buffer in packets, and utilisation in %."""

    flows: int
    buffer: int
    model: float
    ns2: float
    router: float


FIGURE_15 = tuple(
    Cell(flows, buffer, *values)
    for flows, buffers, told in (
        (100, (64, 129, 258, 387), ((96.9, 94.7, 94.9), (99.9, 99.3, 98.1), (100, 99.9, 99.8), (100, 99.8, 99.7))),
        (200, (46, 91, 182, 273), ((98.8, 97.0, 98.6), (99.9, 99.2, 99.7), (100, 99.8, 99.8), (100, 100, 99.8))),
        (300, (37, 74, 148, 222), ((99.5, 98.6, 99.6), (100, 99.3, 99.8), (100, 99.9, 99.8), (100, 99.8, 100))),
        (400, (32, 64, 128, 192), ((99.7, 99.2, 99.5), (100, 99.8, 100), (100, 100, 100), (100, 100, 99.9))),
    )
    for buffer, values in zip(buffers, told, strict=True)
)  # fmt: skip
CELL_POINTS = 1.0
"""How far a cell may be from ns-2's or the router's number, in points."""


@dataclass(frozen=True)
class Point:
    """One run: the utilisation of the port, as a share of its rate, between warm-up and end."""

    link: str
    mbps: float
    rtt_ms: float
    flows: int
    congestion_control: str
    buffer: int
    seed: int
    seconds: float
    utilisation: float
    queue_mean: float
    drops: int
    timeouts: int


@dataclass(frozen=True)
class Least:
    """The smallest buffer found to reach ``target``, packets; ``short``: the largest that did not (0: none tried)."""

    link: str
    flows: int
    congestion_control: str
    target: float
    least: int
    short: int
    rule: float
    product: int


@dataclass(frozen=True)
class Times:
    """Seconds of warm-up, which do not count, and seconds that count."""

    before: float
    counted: float


SEARCH, ONE_FLOW, CELLS = Times(30, 30), Times(60, 180), Times(10, 20)
QUICK = Times(8, 12)


def scene(link: Link, flows: int, control: str, buffer: int, times: Times, seed: int = 1) -> Scene:
    """Flows that start one after the other, from at most ten hosts."""
    senders = min(flows, MOST_SENDERS)
    starts = np.random.default_rng([seed, flows]).uniform(0, min(4.0, times.before / 2), flows)
    end = times.before + times.counted
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


def point(link: Link, seen: Seen) -> Point:
    """The result of a scene."""
    told, one = Told(seen), seen.scene
    return Point(
        link.name,
        link.mbps,
        link.rtt_ms,
        len(one.flows),
        one.congestion_control,
        one.frames_that_fit,
        one.seed,
        one.seconds,
        told.utilisation,
        float(told.queue_packets.mean()),
        seen.drops,
        seen.tcp.get("timeouts", 0),
    )


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
        """Note the utilisation with a buffer."""
        if utilisation >= self.target:
            self.enough = min(self.enough, buffer)
        else:
            self.short = max(self.short, buffer)

    @property
    def found(self) -> Least:
        """The result so far."""
        names = (self.link.name, self.flows, self.control, self.target)
        return Least(*names, self.enough, self.short, self.link.rule(self.flows), self.link.product)


def search(link: Link, searches: Sequence[Search], times: Times, play: Play) -> list[Point]:
    """Make all searches, one step of each at a time, so that the steps share a guest; returns the points tried."""
    points: dict[tuple[int, str, int], Point] = {}
    while open_ := [one for one in searches if one.next is not None]:
        asked = {(one.flows, one.control, one.next or 0) for one in open_}
        missing = [key for key in sorted(asked) if key not in points]
        for seen in play([scene(link, *key, times) for key in missing]):
            made = point(link, seen)
            points[made.flows, made.congestion_control, made.buffer] = made
        for one in open_:
            assert one.next is not None
            one.saw(one.next, points[one.flows, one.control, one.next].utilisation)
    return list(points.values())


def one_flow(share_of_product: float, control: str) -> float:
    """Spang's utilisation of one flow with a buffer of that share of RTT C."""
    return min(BETA[control] * (1 + share_of_product), 1.0)


def single_flows(play: Play) -> list[Point]:
    """One flow with buffers of several shares of RTT C, to compare with `one_flow`."""
    asked = [
        scene(HIFI, 1, control, round(share * HIFI.product), ONE_FLOW)
        for control in CONTROLS
        for share in ONE_FLOW_SHARES
    ]
    return [point(HIFI, seen) for seen in play(asked)]


def figure_15(play: Play) -> list[Point]:
    """Appenzeller's cells, Reno."""
    asked = [scene(APPENZELLER, cell.flows, "reno", cell.buffer, CELLS) for cell in FIGURE_15]
    return [point(APPENZELLER, seen) for seen in play(asked)]


def missed(found: Sequence[Least], points: Sequence[Point]) -> list[str]:
    """Sentences on what is not as published: a buffer above RTT C / sqrt(n) for 98 %, and `cells_missed`."""
    above = [
        f"{one.congestion_control}, {one.flows} flows: {one.least} packets for {one.target:.0%}, not {one.rule:.0f}"
        for one in found
        if one.target == RULE_FOR and one.least > one.rule
    ]
    return above + cells_missed(points)


def cells_missed(points: Sequence[Point]) -> list[str]:
    """Appenzeller's cells that are further than a point from both ns-2's and the router's number."""
    found = []
    for cell in FIGURE_15:
        for ours in points:
            same = ours.link == APPENZELLER.name and (ours.flows, ours.buffer) == (cell.flows, cell.buffer)
            percent = 100 * ours.utilisation
            if same and min(abs(percent - cell.ns2), abs(percent - cell.router)) > CELL_POINTS:
                found.append(
                    f"{cell.flows} flows, {cell.buffer} packets, {ours.congestion_control}: {percent:.1f} %, "
                    f"ns-2 {cell.ns2:g}, router {cell.router:g}"
                )
    return found
