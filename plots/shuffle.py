"""Table 2: a shuffle's times and rates under every scheme, as ratios to the control, beside the published ratios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from hedera.schemes import CONTROL
from results.output import plain_table
from results.published import TABLE_2
from results.record import Run

if TYPE_CHECKING:
    from rich.table import Table

MB = 2**20
"""Bytes. Only with this value do the published columns agree with each other (`results.published.TABLE_2`)."""
TRANSFER_BYTES = 500 * MB
"""From each host to every other, on links of 1 Gb/s."""
SCHEMES = tuple(TABLE_2)
QUANTITIES = ("shuffle", "host_completion", "bisection", "goodput")
UNITS = ("shuffle_s", "host_completion_s", "bisection_mbps", "goodput_mib_per_s")
OURS, PUBLISHED, GAP = "{}_to_control", "published_{}_to_control", "{}_difference"


class Shuffle(NamedTuple):
    """One shuffle: the time until the last host, and until hosts on average, had sent everything, in seconds."""

    shuffle_s: float
    host_completion_s: float


def shuffles(runs: Iterable[Run], schemes: Iterable[str]) -> dict[str, list[Shuffle]]:
    found: dict[str, list[Shuffle]] = {scheme: [] for scheme in schemes}
    for run in runs:
        turns = run.turns
        if run.scheme in found and turns and turns.shuffle_s is not None and turns.host_completion_s is not None:
            found[run.scheme].append(Shuffle(turns.shuffle_s, turns.host_completion_s))
    return {scheme: own for scheme, own in found.items() if own}


def rows_of(measured: Mapping[str, Sequence[Shuffle]], hosts: int, bytes_per_host: float) -> list[dict[str, Any]]:
    """A row per scheme: means over its shuffles, the least and the greatest shuffle time; and for each of QUANTITIES
    its ratio to the control's, the published ratio, and their difference (None: there is none).

    ``bisection_mbps`` is 10^6 bit/s of all hosts, ``goodput_mib_per_s`` 2^20 bytes/s of one, both payload over the
    mean host completion time, as in the paper.
    """
    means = {scheme: _means(found, hosts, bytes_per_host) for scheme, found in measured.items()}
    rows = []
    for scheme, found in measured.items():
        times = [one.shuffle_s for one in found]
        ours, published = _ratios(means, scheme), _ratios(TABLE_2, scheme)
        gaps = [None if a is None or b is None else a - b for a, b in zip(ours, published, strict=True)]
        row = {"scheme": scheme, **dict(zip(UNITS, means[scheme], strict=True)), "shuffles": len(found)}
        row |= {"lowest_shuffle_s": min(times), "highest_shuffle_s": max(times)}
        for form, values in ((OURS, ours), (PUBLISHED, published), (GAP, gaps)):
            row |= {form.format(quantity): value for quantity, value in zip(QUANTITIES, values, strict=True)}
        rows.append(row)
    return rows


Values = tuple[float, float, float, float]


def _means(found: Sequence[Shuffle], hosts: int, bytes_per_host: float) -> Values:
    pace = mean(bytes_per_host / one.host_completion_s for one in found)
    return (
        mean(one.shuffle_s for one in found),
        mean(one.host_completion_s for one in found),
        hosts * pace * 8e-6,
        pace / MB,
    )


def _ratios(values: Mapping[str, Values], scheme: str) -> Sequence[float | None]:
    if scheme not in values or CONTROL not in values:
        return [None] * 4
    return [ours / controls for ours, controls in zip(values[scheme], values[CONTROL], strict=True)]


_TITLES = ("shuffle time", "host completion", "bisection bandwidth", "goodput")


def told(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    units = zip(_TITLES, ("s", "s", "Mb/s", "MB/s"), strict=True)
    made = plain_table(title, "scheme", *(f"{name} [{unit}]" for name, unit in units))
    for row in rows:
        cells = []
        for quantity, value in zip(QUANTITIES, UNITS, strict=True):
            ours, paper, gap = (row[form.format(quantity)] for form in (OURS, PUBLISHED, GAP))
            ratio = "" if ours is None else f"  {ours:.2f}"
            cells.append(f"{row[value]:,.1f}{ratio}" + ("" if gap is None else f" ({paper:.2f}, {gap:+.2f})"))
        made.add_row(row["scheme"], *cells)
    made.caption = "each with its ratio to the control, and in brackets the paper's ratio and the difference"
    return made
