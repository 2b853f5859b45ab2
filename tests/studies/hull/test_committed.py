"""docs/hull.md and its note against the committed results."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from record.output import read_csv
from studies.hull.parameters import SCHEMES
from studies.hull.suites import LOADS, PUBLISHED, within

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "docs" / "hull.md", ROOT / "docs" / "notes" / "hull.md"]
PAGE = " ".join(" ".join(page.read_text(encoding="utf-8") for page in PAGES).split())
COMPARED = ("figure1b", "figure1c", "table2", "figure4", "figure5", "reproduction/figure5")
NUMBERS = ("published", "ours", "lowest", "highest", "ratio")


def rows(name):
    """The rows of a figure or table, as they were before they were written, with their place on the x axis."""
    return [
        row | {n: float(row[n]) if row[n] else None for n in NUMBERS} | {"x": float(next(iter(row.values())))}
        for row in read_csv(ROOT / "results" / "hull" / f"{name}.csv")
    ]


def ours(name, *which):
    """One curve, by x."""
    wanted = "conforming", *which
    return np.array(
        [c["ours"] for c in rows(name) if (c["variant"], c["scheme"], c["metric"], c["statistic"]) == wanted]
    )


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_beside_ours_is_the_published(name):
    assert len({row["seeds"] for row in rows(name)}) == 1
    for row in rows(name):
        known = PUBLISHED.get((Path(name).name, row["x"], row["scheme"], row["metric"], row["statistic"]))
        assert row["published"] == (known if known is None else float(f"{known:.6g}"))
        assert row["lowest"] <= row["highest"]


def test_table_2_is_shown_as_it_was_measured():
    found = {(row["x"], row["scheme"], row["metric"], row["statistic"]): row for row in rows("table2")}
    for load in LOADS:
        for scheme in SCHEMES:
            line = f"| {load} % | `{scheme}` "
            for metric in ("switch_latency_us", "fct_900B_us", "fct_10MB_ms"):
                for statistic in ("mean", "p99"):
                    row = found[load, scheme, metric, statistic]
                    line += f"| {shown(row['ours'])} ({shown(row['published'])}) "
            assert f"{line}|" in PAGE


def test_near_cells_are_counted_as_the_page_says():
    found = [within(rows("table2"), statistic, factor) for statistic, factor in (("mean", 1.5), ("p99", 2.0))]
    near, known = (sum(counts) for counts in zip(*found, strict=True))
    assert f"Of {known} numbers, {near} are within a factor 1.5 (means) or 2 (99th percentiles)" in PAGE


@pytest.mark.parametrize(("metric", "statistic", "schemes", "sign"), [
    *((metric, statistic, list(SCHEMES), -1) for metric in ("switch_latency_us", "fct_900B_us")
      for statistic in ("mean", "p99")),
    ("fct_10MB_ms", "mean", list(SCHEMES)[1:], 1),
])  # fmt: skip
def test_orders_are_as_published(metric, statistic, schemes, sign):
    """Latency falls from scheme to scheme, and large files pay for it: every DCTCP more than the one before it."""
    for before, after in pairwise(ours("table2", scheme, metric, statistic) for scheme in schemes):
        assert (sign * after > sign * before).all()
