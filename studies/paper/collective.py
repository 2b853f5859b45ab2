"""`hedera collective`: what collectives lose to the non-blocking network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import click
import numpy as np

from hedera.schemes import CONTROL, find_scheme
from plots import colour, label_scheme, picture, set_logarithmic
from simulator.config import Config
from studies.paper import KEPT_RULE
from studies.study import Parts, Row, Rows, Study, average_over_seeds, extract_column, group_rows, make_table, study
from topos.arrays import Float64
from traffic.graph import PLACEMENTS, FlowGraph

GROUP = 16
BUFFERS = {"ring": 2 * 15 / 16, "halving-doubling": 2 * 15 / 16, "all-to-all": 15 / 16}
"""The collectives, and how many of its buffers every host sends in one."""
STATIC = ("ecmp", "ecmp-x4", "planned", "spray")
HEDERA = ("hedera-gff", "hedera-sa", "hedera-clos")
FAILING = ("ecmp", "ecmp-x4", "planned", "planned-x4", "spray", *HEDERA)
PERIODS_S = (5.0, 1.0, 0.1, 0.01)
LINKS = {"": "", "core": "link:0_4_1-8_1_1@0.000001", "edge": "link:0_0_1-0_4_1@0.000001"}
"""What fails: nothing; one of 16 links between a pod and the cores above one of its switches; one of four links of an
edge switch."""
MICE = "poisson:web-search,0.1"
_TICKS = 15_000
_LONGEST = 15


@dataclass(frozen=True)
class Case:
    """One simulation: of which ``part``, on how large a buffer, MB."""

    part: str
    collective: str
    mbytes: float
    failed: str
    mice: str
    config: Config


def _list_cases() -> Iterator[Case]:
    yield from _list_sizes((1, 100, 1000), 8)
    for collective in BUFFERS:
        split = (CONTROL, "ecmp", "ecmp-x2", "ecmp-x4", "ecmp-x8", "ecmp-x16")
        yield from _list_trials("sub-flows", collective, 100, split, (5.0,), k=4)
        for failed in ("core", "edge"):
            yield from _list_trials("failure", collective, 100, FAILING, (0.1,), failed=failed, k=8)
        yield from _list_trials("mice", collective, 100, (CONTROL, *STATIC, *HEDERA), (0.1,), mice=MICE, k=4)
    # Steps of 10 ms: 1.25 MB at 1 Gb/s, in halving and doubling on average.
    for collective, mbytes, repeats in (("ring", 20.0, 10), ("halving-doubling", 16 / 3, 38)):
        schemes = (CONTROL, "ecmp", "planned", *HEDERA)
        yield from _list_trials("period", collective, mbytes, schemes, PERIODS_S, k=4, repeats=repeats)


def _list_sizes(sizes: Sequence[float], k: int) -> Iterator[Case]:
    for collective, mbytes, placement in product(BUFFERS, sizes, PLACEMENTS):
        schemes = (CONTROL, *STATIC, *HEDERA)
        yield from _list_trials("size", collective, mbytes, schemes, (5.0,), placement=placement, k=k)


def _list_trials(
    part: str, collective: str, mbytes: float, schemes: Sequence[str], periods_s: Sequence[float], failed: str = "",
    mice: str = "", repeats: int = 1, placement: str = "random", k: int = 4,
) -> Iterator[Case]:  # fmt: skip
    """One case under these schemes, those that have a period with each of the periods."""
    size = round(mbytes * 1e6)
    ideal_s = BUFFERS[collective] * size * 8e-9 * repeats
    for name in schemes:
        for period in periods_s if find_scheme(name).scheduler else periods_s[:1]:
            config = Config(
                name, f"{collective}:{GROUP},{size}" + f" + {mice}" * bool(mice), k=k, seconds=_LONGEST * ideal_s,
                tick_s=min(ideal_s / _TICKS, period), interval_s=period, engine="maxmin", placement=placement,
                repeats=repeats, fail=(LINKS[failed],) if failed else (), large_flows=KEPT_RULE,
            )  # fmt: skip
            yield Case(part, collective, mbytes, failed, mice, config)


def measure(case: Case) -> Row:
    """One simulation of a collective of ``repeats`` rounds, every host's buffer ``mbytes`` large, in groups of 16.

    ``over_control``: its time over the non-blocking network's with the same flows, on which nothing fails; nothing is
    known of that here. ``crowded``: as `measure_crowding` has it. None: it did not end.
    """
    from simulator.driver import simulate

    config, result = case.config, simulate(case.config)
    completed = result.collective()
    assert completed is not None
    assert result.graph is not None
    ended = completed.completion_s is not None
    return {
        "part": case.part, "collective": case.collective, "mbytes": round(case.mbytes, 3), "repeats": config.repeats,
        "placement": config.placement, "k": config.k, "scheme": config.scheme,
        "interval_s": config.interval_s if find_scheme(config.scheme).scheduler else None,
        "failed": case.failed, "mice": case.mice, "seed": config.seed, "completion_s": completed.completion_s,
        "over_control": None,
        "crowded": measure_crowding(result.graph, result.start_s, result.end_s) if ended else None,
    }  # fmt: skip


def measure_crowding(graph: FlowGraph, start_s: Float64, end_s: Float64) -> float:
    """Of the time in which hosts send, or receive, the share in which they do so in several flows at once: more than
    they have NICs, which edge colouring takes to be full with one. Of flows that have ended; of sub-flows the first of
    each flow counts. Times are (flows,)."""
    flows = np.flatnonzero(~graph.computes & (graph.lane == 0))
    sending_s, shared_s = 0.0, 0.0
    for host in (graph.src, graph.dst):
        host_of_event = np.concatenate([host[flows], host[flows]])
        time = np.concatenate([start_s[flows], end_s[flows]])
        change = np.repeat([1, -1], flows.size)
        order = np.lexsort((change, time, host_of_event))
        count = np.cumsum(change[order])[:-1]  # each host's flows have all ended before the next one's begin
        duration_s = np.diff(time[order])
        sending_s += duration_s[count > 0].sum()
        shared_s += duration_s[count > 1].sum()
    return float(shared_s / sending_s)


def _compare_with_control(answers: dict[Case, list[Row]]) -> Rows:
    """Each simulation beside the control with the same flows."""
    rows = [row for (row,) in answers.values()]
    for rows_of_flows in group_rows(rows, *_FLOWS, "seed").values():
        control_s = next(row["completion_s"] for row in rows_of_flows if row["scheme"] == CONTROL)
        for row in rows_of_flows:
            if control_s is not None and row["completion_s"] is not None:
                row["over_control"] = row["completion_s"] / control_s
    return {"collectives": rows}


_FLOWS = ("collective", "mbytes", "repeats", "placement", "k", "mice")


_PERIOD_S = 5.0
"""The period of the schedulers in the picture."""


def draw(rows: Rows, path: Path) -> None:
    """The part ``size``: a panel for each collective and placement."""
    ended = [row for row in rows["collectives"] if row["part"] == "size" and row["over_control"] is not None]
    drawn_rows = [row for row in ended if row["interval_s"] in (None, _PERIOD_S)]
    cases = group_rows(drawn_rows, "placement", "collective", "scheme")
    title = "Completion of collectives over the non-blocking network's"
    with picture(path, 9.6, 5.6, f"{title}; bars: 95 % intervals over seeds") as figure:
        panels = figure.subplots(len(PLACEMENTS), len(BUFFERS), sharex=True, sharey=True)
        for line, placement in zip(panels, PLACEMENTS, strict=True):
            for axes, collective in zip(line, BUFFERS, strict=True):
                for number, scheme in enumerate((*STATIC, *HEDERA)):
                    points = average_over_seeds(
                        cases.get((placement, collective, scheme), []), "over_control", "scheme", "mbytes"
                    )
                    size, over, low, high = (
                        extract_column(points, n) for n in ("mbytes", "over_control", "from", "to")
                    )
                    axes.errorbar(
                        size * 1.06 ** (number - 3), over, np.nan_to_num((high - low) / 2), fmt="o-",
                        markersize=3, linewidth=1, color=colour(scheme),
                        label=label_scheme(scheme) + (f", {_PERIOD_S:g} s" if scheme in HEDERA else ""),
                    )  # fmt: skip
                axes.set_title(f"{collective}, {placement}")
                set_logarithmic(axes, "x")
                if placement == PLACEMENTS[-1]:
                    axes.set_xlabel("buffer of every host [MB]")
            line[0].set_ylabel("time / non-blocking")
        panels[0, 0].set_ylim(bottom=0.9)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


@click.group()
def command() -> None:
    """Collectives: graphs of flows that wait for each other."""


@study(
    click.option("--quick", is_flag=True, help="A first look: k = 4, two sizes, nothing that fails, no mice."), seeds=5
)
def collective_table(seeds: int, quick: bool) -> Study:
    """Simulate and draw how long collectives take under each scheme, over the non-blocking network.

    By size, placement, scheme, period, failed link and mice; some minutes of a processor, or a second with --quick.
    """
    cases = [
        replace(case, config=replace(case.config, seed=seed))
        for case in (_list_sizes((1, 100), 4) if quick else _list_cases())
        for seed in range(1, seeds + 1)
    ]
    columns = ("part", *_FLOWS, "failed", "scheme", "interval_s")

    def make_tables(rows: Rows) -> Parts:
        ended = [row for row in rows["collectives"] if row["scheme"] != CONTROL and row["over_control"] is not None]
        return [
            make_table(
                "Completion over the non-blocking network's", average_over_seeds(ended, "over_control", *columns)
            )
        ]

    return Study(cases, measure, _compare_with_control, make_tables, draw, label="collectives")


command.add_command(collective_table, "table")
