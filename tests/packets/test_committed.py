"""docs/hull.md and its note against the committed results."""

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from packets.metrics import PUBLISHED, Cell, within
from packets.schemes import SCHEMES
from packets.suites import LOADS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "hull"
PAGES = [ROOT / "docs" / "hull.md", ROOT / "docs" / "notes" / "hull.md"]
PAGE = " ".join(" ".join(page.read_text(encoding="utf-8") for page in PAGES).split())
COMPARED = ("figure1b", "figure1c", "table2", "figure4", "figure5", "reproduction/figure5")


def rows(name):
    with (KEPT / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells(name):
    """The rows of a figure or table, as they were before they were written."""
    found = []
    for row in rows(name):
        x, numbers = float(next(iter(row.values()))), (row["ours"], row["lowest"], row["highest"])
        published = float(row["published"]) if row["published"] else None
        what = row["variant"], row["scheme"], row["metric"], row["statistic"]
        ratio = float(row["ratio"]) if row["ratio"] else None
        found.append(Cell(x, *what, published, *map(float, numbers), int(row["seeds"]), ratio))
    return found


def ours(name, *which):
    """One curve, by x."""
    wanted = "conforming", *which
    return np.array([c.ours for c in cells(name) if (c.variant, c.scheme, c.metric, c.statistic) == wanted])


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_beside_ours_is_the_published(name):
    assert len({c.seeds for c in cells(name)}) == 1
    for c in cells(name):
        known = PUBLISHED.get((Path(name).name, c.x, c.scheme, c.metric, c.statistic))
        assert c.published == (known if known is None else float(f"{known:.6g}"))
        assert c.lowest <= c.highest


def test_table_2_is_shown_as_it_was_measured():
    found = {(c.x, c.scheme, c.metric, c.statistic): c for c in cells("table2")}
    for load in LOADS:
        for scheme in SCHEMES:
            line = f"| {load} % | `{scheme}` "
            for metric in ("switch_latency_us", "fct_900B_us", "fct_10MB_ms"):
                for statistic in ("mean", "p99"):
                    c = found[load, scheme, metric, statistic]
                    line += f"| {shown(c.ours)} ({shown(c.published)}) "
            assert f"{line}|" in PAGE


def test_near_cells_are_counted_as_the_page_says():
    shown_there = [c for c in cells("table2") if c.metric in ("switch_latency_us", "fct_900B_us", "fct_10MB_ms")]
    found = [within(shown_there, statistic, factor) for statistic, factor in (("mean", 1.5), ("p99", 2.0))]
    near, known = (sum(counts) for counts in zip(*found, strict=True))
    assert f"Of {known} numbers, {near} are within a factor 1.5 (means) or 2 (99th percentiles)" in PAGE


@pytest.mark.parametrize("metric", ["switch_latency_us", "fct_900B_us"])
@pytest.mark.parametrize("statistic", ["mean", "p99"])
def test_orders_are_as_published(metric, statistic):
    by_scheme = [ours("table2", scheme, metric, statistic) for scheme in SCHEMES]
    for more, less in pairwise(by_scheme):
        assert (more > less).all()


def test_large_files_pay():
    """Every DCTCP pays more than the one before it, HULL most."""
    by_scheme = [ours("table2", scheme, "fct_10MB_ms", "mean") for scheme in list(SCHEMES)[1:]]
    for less, more in pairwise(by_scheme):
        assert (less < more).all()
