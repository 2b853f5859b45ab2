"""The runs of `hedera collective table`: completion of collectives over the non-blocking network's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hedera.schemes import CONTROL
from hedera.schemes import scheme as scheme_of
from paper.scale import interval
from results.output import plain_table
from results.tasks import Runner, in_turn
from simulator.config import Config
from topos.arrays import Float64
from traffic.collectives import PLACEMENTS
from traffic.graph import FlowGraph

if TYPE_CHECKING:
    from rich.table import Table

GROUP = 16
BUFFERS = {"ring": 2 * 15 / 16, "halving-doubling": 2 * 15 / 16, "all-to-all": 15 / 16}
"""The collectives, and how many of its buffers every host sends in one."""
STATIC = ("ecmp", "ecmp-x4", "planned", "spray")
HEDERA = ("hedera-gff", "hedera-sa", "hedera-clos")
FAILING = ("ecmp", "ecmp-x4", "planned", "planned-x4", "spray", *HEDERA)
PERIODS_S = (5.0, 1.0, 0.1, 0.01)
LINKS = {"": "", "core": "link:0_4_1-8_1_1@0.000001", "edge": "link:0_0_1-0_4_1@0.000001"}
"""What fails: nothing; a link of 16 between a pod and the cores above one of its switches; one of four of an edge."""
MICE = "poisson:web-search,0.1"
_TICKS = 15_000
_LONGEST = 15


@dataclass(frozen=True)
class Task:
    """One simulation: of which ``part``, on how large a buffer, MB."""

    part: str
    collective: str
    mbytes: float
    config: Config
    failed: str = ""
    mice: str = ""


@dataclass(frozen=True)
class Row:
    """What became of a collective of ``repeats`` rounds, every host's buffer ``mbytes`` large, in groups of 16.

    ``over_control``: its time over the non-blocking network's with the same flows, on which nothing fails.
    ``crowded``: of the time in which hosts send, or receive, the share in which they do so in several flows at once:
    more than they have NICs, which edge colouring takes to be full with one. None: it did not end.
    """

    part: str
    collective: str
    mbytes: float
    repeats: int
    placement: str
    k: int
    scheme: str
    interval_s: float | None
    failed: str
    mice: str
    seed: int
    completion_s: float | None
    over_control: float | None
    crowded: float | None


def tasks(seeds: int, quick: bool) -> list[Task]:
    """All simulations. ``quick``: a first look, k = 4 and no part but the first."""
    found = list(_sizes((1, 100), 4) if quick else _everything())
    return [replace(one, config=replace(one.config, seed=seed)) for one in found for seed in range(1, seeds + 1)]


def _everything() -> Iterator[Task]:
    yield from _sizes((1, 100, 1000), 8)
    for collective in BUFFERS:
        split = (CONTROL, "ecmp", "ecmp-x2", "ecmp-x4", "ecmp-x8", "ecmp-x16")
        yield from _with("sub-flows", collective, 100, split, (5.0,), 4)
        for failed in ("core", "edge"):
            yield from _with("failure", collective, 100, FAILING, (0.1,), 8, failed=failed)
        yield from _with("mice", collective, 100, (CONTROL, *STATIC, *HEDERA), (0.1,), 4, mice=MICE)
    # Steps of 10 ms: 1.25 MB at 1 Gb/s, in halving and doubling on average.
    for collective, mbytes, repeats in (("ring", 20.0, 10), ("halving-doubling", 16 / 3, 38)):
        yield from _with("period", collective, mbytes, (CONTROL, "ecmp", "planned", *HEDERA), PERIODS_S, 4, repeats)


def _sizes(sizes: Sequence[float], k: int) -> Iterator[Task]:
    for collective in BUFFERS:
        for mbytes in sizes:
            for placement in PLACEMENTS:
                schemes = (CONTROL, *STATIC, *HEDERA)
                yield from _with("size", collective, mbytes, schemes, (5.0,), k, placement=placement)


def _with(
    part: str,
    collective: str,
    mbytes: float,
    schemes: Sequence[str],
    periods_s: Sequence[float],
    k: int,
    repeats: int = 1,
    failed: str = "",
    mice: str = "",
    placement: str = "random",
) -> Iterator[Task]:
    """One case under these schemes, those that have a period with each of the periods."""
    size = round(mbytes * 1e6)
    ideal_s = BUFFERS[collective] * size * 8e-9 * repeats
    for name in schemes:
        for period in periods_s if scheme_of(name).scheduler else periods_s[:1]:
            tick_s = min(ideal_s / _TICKS, period)
            config = Config(
                name,
                f"{collective}:{GROUP},{size}" + f" + {mice}" * bool(mice),
                k=k,
                seconds=_LONGEST * ideal_s,
                tick_s=tick_s,
                interval_s=period,
                engine="maxmin",
                placement=placement,
                repeats=repeats,
                fail=(LINKS[failed],) if failed else (),
            )
            yield Task(part, collective, mbytes, config, failed, mice)


def measure(task: Task) -> Row:
    """One simulation; nothing is known of the control's yet."""
    from simulator.driver import simulate

    config, result = task.config, simulate(task.config)
    told = result.collective()
    assert told is not None
    assert result.graph is not None
    return Row(
        task.part,
        task.collective,
        round(task.mbytes, 3),
        config.repeats,
        config.placement,
        config.k,
        config.scheme,
        config.interval_s if scheme_of(config.scheme).scheduler else None,
        task.failed,
        task.mice,
        config.seed,
        told.completion_s,
        None,
        None if told.completion_s is None else crowded(result.graph, result.start_s, result.end_s),
    )


def crowded(graph: FlowGraph, start_s: Float64, end_s: Float64) -> float:
    """As `Row` has it, of flows that have ended; of sub-flows the first of each flow counts. Times are (flows,)."""
    flows = np.flatnonzero(~graph.computes & (graph.lane == 0))
    some, several = 0.0, 0.0
    for host in (graph.src, graph.dst):
        at = np.concatenate([host[flows], host[flows]])
        time = np.concatenate([start_s[flows], end_s[flows]])
        change = np.repeat([1, -1], flows.size)
        order = np.lexsort((change, time, at))
        count = np.cumsum(change[order])[:-1]  # each host's flows have all ended before the next one's begin
        lasts = np.diff(time[order])
        some += lasts[count > 0].sum()
        several += lasts[count > 1].sum()
    return float(several / some)


def compute(asked: Sequence[Task], run: Runner = in_turn) -> list[Row]:
    """Carry the simulations out; each beside the control with the same flows."""
    rows = run(measure, asked)
    control = {_flows_of(row): row.completion_s for row in rows if row.scheme == CONTROL}

    def over(row: Row) -> float | None:
        least = control[_flows_of(row)]
        return None if least is None or row.completion_s is None else row.completion_s / least

    return [replace(row, over_control=over(row)) for row in rows]


def _flows_of(row: Row) -> tuple[object, ...]:
    return row.collective, row.mbytes, row.repeats, row.placement, row.k, row.mice, row.seed


def told(rows: Sequence[Row]) -> Table:
    """Means over seeds, with Student's intervals."""
    table = plain_table(
        "Completion over the non-blocking network's",
        "part", "collective", "MB", "placement", "failed", "scheme", "period [s]", "times", "95 %", left=6,
    )  # fmt: skip
    cases: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.scheme != CONTROL:
            case = (row.part, *_flows_of(replace(row, seed=0)), row.failed, row.scheme, row.interval_s)
            cases.setdefault(case, []).append(row)
    for same in cases.values():
        one = same[0]
        times = np.array([row.over_control for row in same if row.over_control is not None])
        found = interval(times) if times.size else None
        table.add_row(
            one.part, one.collective, f"{one.mbytes:g}", one.placement, one.failed or "-", one.scheme,
            f"{one.interval_s or ''}", "not done" if found is None else f"{found.mean:.2f}",
            "" if found is None or found.low is None else f"{found.low:.2f} to {found.high:.2f}",
        )  # fmt: skip
    return table
