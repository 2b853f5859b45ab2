"""`hedera hifi`: Mininet-HiFi's other experiments (Handigol et al., CoNEXT '12), real TCP in virtual time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import numpy as np

from plots import DASHES, INK, MUTED, picture, set_logarithmic
from record.output import make_plain_table
from studies.hifi.scene import KEPT, Flow, Observed, Scene, count_packets, play_scenes
from studies.study import Parts, Row, Rows, Study, extract_column, group_rows, study
from topos.wire import DEFAULT_MTU

COLOURS = {"dctcp": "#0072b2", "reno": "#d55e00", "cubic": "#009e73"}
Times = tuple[float, float]
"""Seconds of warm-up, which do not count, and seconds that count."""
_experiment = partial(study, folders=(KEPT, Path("results/runs/hifi-quick")), at_once=False)


@click.group()
def hifi() -> None:
    """Mininet-HiFi's other experiments (CoNEXT '12): DCTCP's queue, links' fidelity and buffer sizes.

    Real TCP in virtual time; needs no root. Finished runs are kept in results/runs/hifi and not made again: stop it
    at any time (Ctrl-C), and the same command continues. docs/hifi.md has the results.
    """


# DCTCP and TCP in one queue: two endless senders, one receiver (section 5.1). The published percentiles are of a
# hardware switch and of Mininet-HiFi, with links of 100 Mb/s, a queue of 425 packets, a delay of 75 us and marks from
# K = 20 packets on. At 1 Gb/s K is 65, as in DCTCP's own paper (section 4). Mininet-HiFi's delay varies by 50 us. Netem
# then reorders packets of a burst, which no switch does, so here it does not.

FRAMES = 425
"""So many full packets fit in the queue."""
RAMP = (35_000 - 30_000) / 1500
"""So many packets are between the first mark and the length from which on all are marked, as in the original's RED (min
30000, max 35000)."""
MARKS = {10.0: 20, 100.0: 20, 1000.0: 65}
LENGTH_S = {10.0: 60.0, 100.0: 60.0, 1000.0: 6.0}
QUICK_SHARE = 0.25
SETTLED_S = 5.0
"""When the original starts to sample; shorter runs start after a third."""
DCTCP_CONTROLS = {"dctcp": "DCTCP", "reno": "TCP (Reno)"}
PUBLISHED: dict[str, dict[str, tuple[float, float, float]]] = {
    "hardware": {"dctcp": (17.1, 19.0, 20.7), "reno": (226, 337, 418)},
    "Mininet-HiFi": {"dctcp": (18, 21, 22), "reno": (235, 353, 418)},
}
"""The queue in packets, 5th percentile, median and 95th, at 100 Mb/s; from the data of `mininet/mininet-tests`, dctcp/
(commit d8cb876)."""


def make_dctcp_scene(mbps: float, control: str, seed: int, quick: bool = False) -> Scene:
    """The seed draws the flows' start times."""
    seconds = LENGTH_S[mbps] * (QUICK_SHARE if quick else 1)
    # These are all that the seed draws, and what makes runs of several seeds differ.
    starts = np.random.default_rng(seed).uniform(0, 0.05 * seconds, 2)
    return Scene(
        name=f"dctcp-{mbps:g}-{control}-{seconds:g}s-{seed}",
        mbps=mbps,
        flows=tuple(Flow(n, float(start)) for n, start in enumerate(starts, start=1)),
        seconds=seconds,
        window=(min(SETTLED_S, seconds / 3), seconds),
        seed=seed,
        queue_packets=count_packets(FRAMES),
        congestion_control=control,
        mark_packets=MARKS[mbps],
        ramp_packets=RAMP,
        every_s=1e-3 * 100 / mbps if control == "dctcp" else 5e-3 * 100 / mbps,
        delay_ms=0.075,
        round_trips=False,
        wake=10 / mbps,  # seldom enough to cost little, often enough for the receive window to grow as with any program
    )


def make_dctcp_row(observed: Observed) -> Row:
    """The result of a scene: the queue in full frames over its samples, the port's utilisation as a share of its rate,
    both flows' rates, drops and timeouts."""
    scene, queue, rates = observed.scene, observed.queue_packets, observed.goodput
    names = ("least", "p5", "p25", "median", "p75", "p95", "most")
    return {
        "mbps": scene.mbps, "congestion_control": scene.congestion_control,
        "marks": scene.mark_packets if scene.congestion_control == "dctcp" else 0,
        "seed": scene.seed, "seconds": scene.seconds, "looks": queue.size,
        **dict(zip(names, np.percentile(queue, (0, 5, 25, 50, 75, 95, 100)).tolist(), strict=True)),
        "mean": float(queue.mean()), "utilisation": observed.utilisation, "least_flow_mbps": float(rates.min()),
        "most_flow_mbps": float(rates.max()), "drops": observed.drops, "timeouts": observed.tcp.get("timeouts", 0),
        "out_of_order": observed.tcp.get("segments_out_of_order", 0),
    }  # fmt: skip


def make_quantile_rows(observed: Observed) -> list[Row]:
    """Each percentile of a scene's queue, packets; the picture is drawn from these."""
    settings = {
        "mbps": observed.scene.mbps,
        "congestion_control": observed.scene.congestion_control,
        "seed": observed.scene.seed,
    }
    percentiles = np.percentile(observed.queue_packets, range(101)).tolist()
    return [{**settings, "percent": percent, "packets": packets} for percent, packets in enumerate(percentiles)]


def _make_dctcp_rows(name: str, answers: dict[tuple[Scene, ...], list[list[Observed]]]) -> Rows:
    ((observed,),) = answers.values()
    return {
        name: [make_dctcp_row(run) for run in observed],
        f"{name}-queue": [row for run in observed for row in make_quantile_rows(run)],
    }


def _tabulate_queues(rows: Rows) -> Parts:
    filled = make_plain_table("The queue in packets: ours, the hardware's, Mininet-HiFi's", "", "5 %", "median", "95 %")
    for control, group in group_rows(next(iter(rows.values())), "congestion_control").items():
        lines = {f"seed {row['seed']}": (row["p5"], row["median"], row["p95"]) for row in group}
        lines |= {source: published[control] for source, published in PUBLISHED.items() if group[0]["mbps"] == 100}
        for source, values in lines.items():
            filled.add_row(f"{control}, {source}", *(f"{value:.1f}" for value in values))
    return [filled]


def _draw_queues(rows_by_file: Rows, path: Path) -> None:
    """A panel for DCTCP and one for TCP: the distribution of the queue over samples, a line for every run; the
    published 5th percentiles, medians and 95th percentiles as marks."""
    by_control = group_rows([*rows_by_file.values()][1], "congestion_control")
    with picture(path, 8.4, 3.4) as figure:
        for axes, (control, name) in zip(figure.subplots(1, 2), DCTCP_CONTROLS.items(), strict=True):
            rows = by_control[control]
            for seed, run in group_rows(rows, "seed").items():
                line = axes.plot([row["packets"] for row in run], [row["percent"] for row in run], lw=1.2)[0]
                line.set(color=COLOURS[control], alpha=0.7, label="ours" if seed == rows[0]["seed"] else None)
            for (source, published), mark in zip(
                PUBLISHED.items() if rows[0]["mbps"] == 100 else (), "os", strict=False
            ):
                axes.plot(published[control], (5, 50, 95), mark, ms=6, mfc="white", mec=INK, label=source)
            axes.set(xlabel="packets in the queue", ylabel="looks with at most so many, %")
            axes.set(xlim=(0, None), ylim=(0, 100), title=f"{name}, links of {rows[0]['mbps']:g} Mb/s")
            axes.legend(fontsize=8)


@_experiment(
    click.option(
        "--bw", type=click.Choice(["100", "1000"]), default="100", show_default=True, help="Rate of the links, Mb/s."
    ),
    click.option("--seeds", type=click.IntRange(1), help="Seeds, that is runs, of each (default: 5; 1 with --quick)."),
)
def dctcp(bw: str, seeds: int | None, quick: bool) -> Study:
    """Measure the queue of two endless flows, with DCTCP and with TCP, beside a hardware switch and Mininet-HiFi."""
    many = range(1, 1 + (seeds or (1 if quick else 5)))
    scenes = tuple(make_dctcp_scene(float(bw), control, seed, quick) for control in DCTCP_CONTROLS for seed in many)
    name = "dctcp" if bw == "100" else "dctcp-1g"
    return Study(
        [scenes], play_scenes, partial(_make_dctcp_rows, name), _tabulate_queues, _draw_queues, label="playing"
    )


# A link's scheduling (sections 3.4 and 5.1): the time between packets of a full link against what their bits take.

BINS = (0, *(digit * 10.0**power for power in range(-2, 3) for digit in (1, 2, 5)), math.inf)
"""Bounds of the histogram: how far a gap is from the ideal, in percent."""
RATES = {10.0: "#009e73", 100.0: "#0072b2", 1000.0: "#d55e00"}
"""The rates of the links, in Mb/s, and their colours."""
GAPS = 25_000
"""So many packets are looked at, as many as Mininet-HiFi kept at 100 Mb/s."""
HIFI_GAPS: dict[float, tuple[int, dict[float, int]]] = {
    100.0: (24_850, {1: 7628, 2: 3641, 5: 868, 10: 48, 20: 19, 50: 3, 100: 0}),
    1000.0: (45_536, {10: 18_871, 20: 15_012, 50: 10_185, 100: 5665, 200: 4050, 500: 3141}),
}
"""By Mb/s: packets, and how many are at least so many % from the ideal; counted in the whole microseconds of
`mininet/mininet-tests`, dctcp/verify (commit 2a7e0a8), with its ideals of 120 and 12."""


def make_fidelity_scene(mbps: float, seed: int, quick: bool = False) -> Scene:
    """DCTCP's, until so many packets have left the queue, which is never empty."""
    scene = make_dctcp_scene(mbps, "dctcp", seed)
    begin, _ = scene.window
    end = begin + GAPS * (0.1 if quick else 1) * scene.frame_ms / 1e3
    name = f"fidelity-{mbps:g}-{end:g}s-{seed}"
    return msgspec.structs.replace(scene, name=name, seconds=max(3.0, end), window=(begin, end), packets=True)


def make_fidelity_row(observed: Observed) -> Row:
    """``ideal_us``: of a full frame. ``least``, ``median``, ``most``: the time between packets, % from the ideal."""
    off = 100 * observed.off_ideal
    return {
        "mbps": observed.scene.mbps, "seed": observed.scene.seed, "packets": off.size,
        "ideal_us": 1e3 * observed.scene.frame_ms,
        **dict(zip(("least", "median", "most"), np.percentile(off, (0, 50, 100)).tolist(), strict=True)),
        "utilisation": observed.utilisation, "drops": observed.drops,
    }  # fmt: skip


def make_histogram_rows(observed: Observed) -> list[Row]:
    """How many packets are at least ``from_percent`` from the ideal, and less than what the next row says."""
    packets, _ = np.histogram(100 * np.abs(observed.off_ideal), BINS)
    settings = {"mbps": observed.scene.mbps, "seed": observed.scene.seed}
    return [{**settings, "from_percent": low, "packets": n} for low, n in zip(BINS, packets.tolist(), strict=False)]


def _make_fidelity_rows(answers: dict[tuple[Scene, ...], list[list[Observed]]]) -> Rows:
    ((observed,),) = answers.values()
    return {
        "fidelity": [*map(make_fidelity_row, observed)],
        "fidelity-histogram": [row for run in observed for row in make_histogram_rows(run)],
    }


def _accumulate_gaps(rows: Rows) -> dict[tuple[str, float], dict[float, float]]:
    """By whose they are and Mb/s: of the packets of all runs, how many % are at least so many % from the ideal."""
    shares: dict[tuple[str, float], dict[float, float]] = {}
    for mbps, bins in group_rows(rows["fidelity-histogram"], "mbps").items():
        packets = extract_column(bins, "packets").reshape(-1, len(BINS) - 1).sum(axis=0)
        beyond = 100 * packets[::-1].cumsum()[::-1] / packets.sum()
        shares["ours", mbps] = dict(zip(BINS, beyond.tolist(), strict=False))
    for mbps, (number, counts) in HIFI_GAPS.items():
        shares["Mininet-HiFi", mbps] = {off: 100 * count / number for off, count in counts.items()}
    return shares


def _tabulate_gaps(rows: Rows) -> Parts:
    bins_shown = (1, 10, 100)
    filled = make_plain_table(
        "Packets so far from the ideal, or further, %", "", "Mb/s", *(f"{off} %" for off in bins_shown)
    )
    for (source, mbps), beyond in _accumulate_gaps(rows).items():
        filled.add_row(source, f"{mbps:g}", *(f"{beyond[off]:.3g}" if off in beyond else "" for off in bins_shown))
    return [filled, "In virtual time no processor is idle or busy. In real time, run.json says it of each run (cpu)."]


def _draw_gaps(rows: Rows, path: Path) -> None:
    """The share of packets against their distance from the ideal, a line for each rate; theirs dashed."""
    with picture(path, 6.4, 4.0, "How evenly a full link sends") as figure:
        axes = figure.subplots()
        for (source, mbps), beyond in _accumulate_gaps(rows).items():
            off = [distance for distance, share in beyond.items() if distance and share]
            (line,) = axes.plot(off, [beyond[distance] for distance in off], marker="o", ms=3, color=RATES[mbps])
            line.set(ls="-" if source == "ours" else DASHES, label=f"{source}, {mbps:g} Mb/s")
        axes.set(xlabel="time between packets, at least so far from the ideal, %", ylabel="packets, %")
        for dimension in ("x", "y"):
            set_logarithmic(axes, dimension)
        axes.legend(fontsize=8)


@_experiment(click.option("--seeds", type=click.IntRange(1), help="Runs of each rate (default: 5; 1 with --quick)."))
def fidelity(seeds: int | None, quick: bool) -> Study:
    """Measure how evenly a full link sends: times between packets, beside Mininet-HiFi's."""
    many = range(1, 1 + (seeds or (1 if quick else 5)))
    scenes = tuple(make_fidelity_scene(mbps, seed, quick) for mbps in RATES for seed in many)
    return Study([scenes], play_scenes, _make_fidelity_rows, _tabulate_gaps, _draw_gaps, label="playing")


# How small a buffer can be: long flows over one link with a long delay (section 5.3). Appenzeller, Keslassy and McKeown
# (SIGCOMM '04): RTT C / sqrt(n) is enough for n flows. Spang, Arslan and McKeown (IFIP Networking '21): one flow has
# min(beta (1 + B / (RTT C)), 1) of the link; beta, the share of the window that remains after a loss, is 0.5 for Reno
# and 717/1024 for cubic in Linux.

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
        return round(self.mbps * 1e3 * self.rtt_ms / (8 * DEFAULT_MTU))

    def rule(self, flows: int) -> float:
        """RTT C / sqrt(n), in packets."""
        return self.product / math.sqrt(flows)


HIFI = Link("hifi", 62.5, 87.0)
"""The path from Los Angeles to Houston, whose product of round trip and rate, RTT C, is 453 packets."""
APPENZELLER = Link("appenzeller", 155.0, 99.94)
"""The OC3 link of Appenzeller's Figure 15. RTT C is 1,291 packets."""


SEARCH, ONE_FLOW, CELLS, QUICK = (30.0, 30.0), (60.0, 180.0), (10.0, 20.0), (8.0, 12.0)


def make_buffer_scene(link: Link, flows: int, control: str, buffer: int, times: Times) -> Scene:
    senders, warm_up, end = min(flows, MOST_SENDERS), times[0], sum(times)
    starts = np.random.default_rng([1, flows]).uniform(0, min(4.0, warm_up / 2), flows)
    return Scene(
        name=f"buffer-{link.name}-{flows}-{control}-{buffer}-{end:g}s-1",
        mbps=link.mbps,
        flows=tuple(Flow(1 + n % senders, float(start)) for n, start in enumerate(sorted(starts))),
        seconds=end,
        window=(warm_up, end),
        access=10.0,
        queue_packets=count_packets(buffer),
        congestion_control=control,
        every_s=0.02,
        delay_ms=link.rtt_ms / 2,
        round_trips=False,
        wake=0.1,  # if it were longer, sinks would keep the receive windows small
    )


def measure_point(link: Link, observed: Observed) -> Row:
    """The result of a scene: the utilisation of the port, as a share of its rate, between warm-up and end."""
    scene = observed.scene
    return {
        "link": link.name, "mbps": link.mbps, "rtt_ms": link.rtt_ms, "flows": len(scene.flows),
        "congestion_control": scene.congestion_control, "buffer": scene.frames_that_fit, "seed": scene.seed,
        "seconds": scene.seconds, "utilisation": observed.utilisation,
        "queue_mean": float(observed.queue_packets.mean()), "drops": observed.drops,
        "timeouts": observed.tcp.get("timeouts", 0),
    }  # fmt: skip


Case = tuple[str, int, float]
"""Congestion control, flows, and the share of the link that is to be reached."""


def search(link: Link, cases: Sequence[Case], times: Times) -> tuple[list[Row], list[Row]]:
    """The smallest buffer for every case, by bisection of logarithms, one step of each case at a time; and all points
    tried. ``least``: the smallest found to be enough, packets; ``short``: the largest that was not (1: none)."""
    # The search begins between nothing and twice the old rule of thumb, RTT C, which is more than enough for one flow.
    enough, short = dict.fromkeys(cases, 2 * link.product), dict.fromkeys(cases, 1)
    points: dict[tuple[int, str, int], Row] = {}
    while steps := {case: size for case in cases if (size := choose_buffer(short[case], enough[case]))}:
        keys = sorted({(flows, control, size) for (control, flows, _), size in steps.items()} - points.keys())
        observations = play_scenes([make_buffer_scene(link, *key, times) for key in keys])
        points |= {key: measure_point(link, observed) for key, observed in zip(keys, observations, strict=True)}
        for case, size in steps.items():
            control, flows, target = case
            (enough if points[flows, control, size]["utilisation"] >= target else short)[case] = size
    smallest = [
        {
            "link": link.name, "flows": flows, "congestion_control": control, "target": target,
            "least": enough[control, flows, target], "short": short[control, flows, target],
            "rule": link.rule(flows), "product": link.product,
        }
        for control, flows, target in cases
    ]  # fmt: skip
    return smallest, list(points.values())


def choose_buffer(short: int, enough: int) -> int | None:
    """The buffer to try next; None when the search is over."""
    if enough <= max(short + 1, FINE * short):
        return None
    return min(max(round(math.sqrt(enough * short)), short + 1), enough - 1)


def load_published_points() -> list[Row]:
    """One flow with buffers of several shares of RTT C, as Spang's, and Appenzeller's cells, Reno."""
    buffers = [round(share * HIFI.product) for share in ONE_FLOW_SHARES]
    single = [make_buffer_scene(HIFI, 1, control, buffer, ONE_FLOW) for control in CONTROLS for buffer in buffers]
    cells = [make_buffer_scene(APPENZELLER, flows, "reno", buffer, CELLS) for flows, buffer, *_ in FIGURE_15]
    return [
        measure_point(link, observed)
        for link, scenes in ((HIFI, single), (APPENZELLER, cells))
        for observed in play_scenes(scenes)
    ]


def play_buffers(quick: bool) -> Rows:
    """The search for the smallest buffers; unless ``quick``, for all cases, and the published points too."""
    cases = [("reno", 10, 0.99), ("reno", 100, 0.99)] if quick else [*itertools.product(CONTROLS, FLOWS, TARGETS)]
    smallest, points = search(HIFI, cases, QUICK if quick else SEARCH)
    return {"buffers": points if quick else points + load_published_points(), "least": smallest}


def _tabulate_buffers(rows: Rows) -> Parts:
    smallest = make_plain_table(
        "The smallest buffer, packets", "", "target", "flows", "least", "RTT C / sqrt(n)", "RTT C"
    )
    cells = "{congestion_control} {target:.1%} {flows} {least} {rule:.0f} {product}"
    for row in rows["least"]:
        smallest.add_row(*cells.format(**row).split())
    tables: Parts = [smallest]
    appenzeller = [row for row in rows["buffers"] if row["link"] == APPENZELLER.name]
    if appenzeller:
        beside = make_plain_table("Utilisation, %, Reno", "flows", "buffer", "ours", "ns-2", "router")
        for row, (flows, buffer, *published) in zip(appenzeller, FIGURE_15, strict=True):
            beside.add_row(
                f"{flows}",
                f"{buffer}",
                *(f"{utilisation:.1f}" for utilisation in (100 * row["utilisation"], *published)),
            )
        tables.append(beside)
    return tables


def _draw_buffers(rows_by_file: Rows, path: Path) -> None:
    """The smallest buffer against the number of flows, beside the rule of thumb; a panel for each target."""
    by_target = dict(sorted(group_rows(rows_by_file["least"], "target").items()))
    with picture(path, 3.6 * len(by_target) + 0.6, 3.4) as figure:
        panels = figure.subplots(1, len(by_target), sharey=True, squeeze=False)[0]
        for axes, (target, rows) in zip(panels, by_target.items(), strict=True):
            rule = {row["flows"]: row["rule"] for row in rows}
            axes.plot(list(rule), list(rule.values()), color=INK, ls=DASHES, label="RTT C / sqrt(n)")
            axes.axhline(rows[0]["product"], color=MUTED, ls=DASHES, label="RTT C")
            for control in CONTROLS:
                smallest = {row["flows"]: row["least"] for row in rows if row["congestion_control"] == control}
                axes.plot(list(smallest), list(smallest.values()), "o-", color=COLOURS[control], label=control)
            axes.set(xscale="log", xlabel="flows", title=f"{target:.1%} of the link")
            set_logarithmic(axes)
            axes.set_xticks(list(rule), [str(n) for n in rule])
            axes.tick_params(axis="x", which="minor", bottom=False)
        panels[0].set(ylabel="smallest buffer, packets", ylim=(1, 2 * rows[0]["product"]))
        panels[0].legend(fontsize=8, loc="lower left")


@_experiment()
def buffers(quick: bool) -> Study:
    """Find the smallest buffer that keeps a link busy, against RTT C and RTT C / sqrt(n); Reno and cubic."""

    def make_rows(answers: dict[bool, list[Rows]]) -> Rows:
        return answers[quick][0]

    return Study([quick], play_buffers, make_rows, _tabulate_buffers, _draw_buffers, label="playing", main="least")


for _command in (dctcp, fidelity, buffers):
    hifi.add_command(_command)
