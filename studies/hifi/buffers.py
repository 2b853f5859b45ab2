"""How small a buffer can be: long flows over one link with a long delay (CoNEXT '12, section 5.3).

Appenzeller, Keslassy and McKeown (SIGCOMM '04): RTT C / sqrt(n) is enough for n flows. Spang, Arslan and McKeown
(IFIP Networking '21): one flow has min(beta (1 + B / (RTT C)), 1) of the link; beta, the share of the window that
remains after a loss, is 0.5 for Reno and 717/1024 for cubic in Linux.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plots.style import DASHES, INK, MUTED, house_style, logarithmic, save
from record.output import plain_table, write_csv
from studies.hifi.dctcp import COLOURS
from studies.hifi.scene import Flow, Row, Scene, Seen, packets_for
from studies.hifi.stage import played

if TYPE_CHECKING:
    from rich.table import Table

MTU = 1500
CONTROLS = ("reno", "cubic")
TARGETS = (0.98, 0.99, 0.999)
FLOWS = (10, 50, 200)
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


Times = tuple[float, float]
"""Seconds of warm-up, which do not count, and seconds that count."""
SEARCH, ONE_FLOW, CELLS, QUICK = (30.0, 30.0), (60.0, 180.0), (10.0, 20.0), (8.0, 12.0)


def scene(link: Link, flows: int, control: str, buffer: int, times: Times, seed: int = 1) -> Scene:
    senders, warm_up, end = min(flows, MOST_SENDERS), times[0], sum(times)
    starts = np.random.default_rng([seed, flows]).uniform(0, min(4.0, warm_up / 2), flows)
    return Scene(
        name=f"buffer-{link.name}-{flows}-{control}-{buffer}-{end:g}s-{seed}",
        mbps=link.mbps,
        flows=tuple(Flow(1 + n % senders, float(start)) for n, start in enumerate(sorted(starts))),
        seconds=end,
        window=(warm_up, end),
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
    one = seen.scene
    return {
        "link": link.name, "mbps": link.mbps, "rtt_ms": link.rtt_ms, "flows": len(one.flows),
        "congestion_control": one.congestion_control, "buffer": one.frames_that_fit, "seed": one.seed,
        "seconds": one.seconds, "utilisation": seen.utilisation, "queue_mean": float(seen.queue_packets.mean()),
        "drops": seen.drops, "timeouts": seen.tcp.get("timeouts", 0),
    }  # fmt: skip


Case = tuple[str, int, float]
"""Congestion control, flows, and the share of the link that is to be reached."""


def search(link: Link, cases: Sequence[Case], times: Times) -> tuple[list[Row], list[Row]]:
    """The smallest buffer for every case, by bisection of logarithms, one step of each case at a time; and all points
    tried. ``least``: the smallest found to be enough, packets; ``short``: the largest that was not (1: none)."""
    enough, short = dict.fromkeys(cases, 2 * link.product), dict.fromkeys(cases, 1)
    points: dict[tuple[int, str, int], Row] = {}
    while steps := {case: size for case in cases if (size := between(short[case], enough[case]))}:
        keys = sorted({(flows, control, size) for (control, flows, _), size in steps.items()} - points.keys())
        seen = played([scene(link, *key, times) for key in keys])
        points |= {key: point(link, one) for key, one in zip(keys, seen, strict=True)}
        for case, size in steps.items():
            control, flows, target = case
            (enough if points[flows, control, size]["utilisation"] >= target else short)[case] = size
    found = [
        {
            "link": link.name, "flows": flows, "congestion_control": control, "target": target,
            "least": enough[control, flows, target], "short": short[control, flows, target],
            "rule": link.rule(flows), "product": link.product,
        }
        for control, flows, target in cases
    ]  # fmt: skip
    return found, list(points.values())


def between(short: int, enough: int) -> int | None:
    """The buffer to try next; None when the search is over."""
    if enough <= max(short + 1, FINE * short):
        return None
    return min(max(round(math.sqrt(enough * short)), short + 1), enough - 1)


def published_points() -> list[Row]:
    """One flow with buffers of several shares of RTT C, as Spang's, and Appenzeller's cells, Reno."""
    buffers = [round(share * HIFI.product) for share in ONE_FLOW_SHARES]
    single = [scene(HIFI, 1, control, buffer, ONE_FLOW) for control in CONTROLS for buffer in buffers]
    cells = [scene(APPENZELLER, flows, "reno", buffer, CELLS) for flows, buffer, *_ in FIGURE_15]
    return [point(link, seen) for link, asked in ((HIFI, single), (APPENZELLER, cells)) for seen in played(asked)]


def make(quick: bool, folder: Path) -> tuple[list[Row], list[Table], list[Path]]:
    """Play it all; what the searches found, the tables, and the files that are written."""
    cases = [("reno", 10, 0.99), ("reno", 100, 0.99)] if quick else list(itertools.product(CONTROLS, FLOWS, TARGETS))
    found, points = search(HIFI, cases, QUICK if quick else SEARCH)
    tables = [plain_table("The smallest buffer, packets", "", "target", "flows", "least", "RTT C / sqrt(n)", "RTT C")]
    cells = "{congestion_control} {target:.1%} {flows} {least} {rule:.0f} {product}"
    for one in found:
        tables[0].add_row(*cells.format(**one).split())
    if not quick:
        points += (published := published_points())
        tables.append(plain_table("Utilisation, %, Reno", "flows", "buffer", "ours", "ns-2", "router"))
        for ours, (flows, buffer, *theirs) in zip(published[-len(FIGURE_15) :], FIGURE_15, strict=True):
            tables[1].add_row(f"{flows}", f"{buffer}", *(f"{it:.1f}" for it in (100 * ours["utilisation"], *theirs)))
    files = [write_csv(folder / "buffers.csv", points), write_csv(folder / "least.csv", found)]
    return found, tables, [*files, draw(found, folder / "buffers.png")]


def draw(rows: Sequence[Row], path: Path) -> Path:
    """The smallest buffer against the number of flows, beside the rule of thumb; a panel for each target."""
    from matplotlib.figure import Figure

    targets = sorted({row["target"] for row in rows})
    with house_style():
        figure = Figure(figsize=(3.6 * len(targets) + 0.6, 3.4), layout="constrained")
        panels = figure.subplots(1, len(targets), sharey=True, squeeze=False)[0]
        for axes, target in zip(panels, targets, strict=True):
            own = [row for row in rows if row["target"] == target]
            rule = {row["flows"]: row["rule"] for row in own}
            axes.plot(list(rule), list(rule.values()), color=INK, ls=DASHES, label="RTT C / sqrt(n)")
            axes.axhline(own[0]["product"], color=MUTED, ls=DASHES, label="RTT C")
            for control in CONTROLS:
                least = {row["flows"]: row["least"] for row in own if row["congestion_control"] == control}
                axes.plot(list(least), list(least.values()), "o-", color=COLOURS[control], label=control)
            axes.set(xscale="log", xlabel="flows", title=f"{target:.1%} of the link")
            logarithmic(axes)
            axes.set_xticks(list(rule), [str(n) for n in rule])
            axes.tick_params(axis="x", which="minor", bottom=False)
        panels[0].set_ylabel("smallest buffer, packets")
        panels[0].set_ylim(1, 2 * own[0]["product"])
        panels[0].legend(fontsize=8, loc="lower left")
        return save(figure, path)[0]
