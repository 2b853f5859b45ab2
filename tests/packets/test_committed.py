"""docs/hull.md and its note against the committed results: every number of theirs is in the data, to the digit."""

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from packets.metrics import Cell, within
from packets.published import PUBLISHED
from packets.schemes import SCHEMES
from packets.suites import LOADS
from packets.workload import SMALL_PER_LARGE

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "hull"
PAGES = [ROOT / "docs" / "hull.md", ROOT / "docs" / "notes" / "hull.md"]
PAGE = " ".join(" ".join(page.read_text(encoding="utf-8") for page in PAGES).split())
COMPARED = ("figure1b", "figure1c", "table2", "figure4", "figure5", "reproduction/figure5")
BESIDE = (200, 400, 600)


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
        found.append(Cell(x, *what, published, *map(float, numbers), int(row["seeds"])))
    return found


def kept(name, scheme, metric, statistic, xs=None, variant="conforming"):
    """The cells of one curve, by x."""
    wanted = variant, scheme, metric, statistic
    curve = [c for c in cells(name) if (c.variant, c.scheme, c.metric, c.statistic) == wanted]
    return [c for c in curve if xs is None or c.x in xs]


def ours(*which, **more):
    return np.array([c.ours for c in kept(*which, **more)])


def published(*which, **more):
    return np.array([c.published for c in kept(*which, **more)])


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def span(values, digits=0):
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


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


def test_the_pair_of_large_files_that_is_the_other_way_round():
    """The slowest hundredth at 40 %: of DCTCP-30K and DCTCP-6K-pacer, published and here."""
    slowest = "fct_10MB_ms", "p99"
    other, paced = (kept("table2", s, *slowest, xs=[40])[0] for s in ("dctcp-30k", "dctcp-6k-pacer"))
    assert paced.ours < other.ours
    assert f"DCTCP-6K-pacer's {paced.ours:.0f} ms are below DCTCP-30K's {other.ours:.0f}" in PAGE
    assert f"(published: {paced.published:.0f} and {other.published:.0f})" in PAGE
    seeds = f"from {paced.lowest:.0f} to {paced.highest:.0f} and from {other.lowest:.0f} to {other.highest:.0f}"
    assert seeds in PAGE
    for load in (20, 40, 60):
        found = {s: kept("table2", s, *slowest, xs=[load])[0].ours for s in SCHEMES}
        assert found["tcp"] < found["hull"]
        if load != 40:
            assert found["dctcp-30k"] < found["dctcp-6k-pacer"] < found["hull"]


def average(of, metric, statistic, than):
    """Of HULL's reductions at the three loads, in percent."""
    hull, other = (of("table2", scheme, metric, statistic) for scheme in ("hull", than))
    return float(np.mean(100 * (1 - hull / other)))


@pytest.mark.parametrize(
    ("metric", "name"),
    [("switch_latency_us", "switch latency"), ("fct_900B_us", "900 bytes"), ("fct_10MB_ms", "10 MB")],
)
def test_averages_over_the_loads(metric, name):
    for than in ("tcp", "dctcp-30k"):
        here, theirs = (average(of, metric, "p99", than) for of in (ours, published))
        assert f"| {name}, `{than}` | {here:.1f} % | {theirs:.1f} % |" in PAGE


def test_average_means_of_large_files():
    here, theirs = (
        {than: -average(of, "fct_10MB_ms", "mean", than) for than in ("tcp", "dctcp-30k")} for of in (ours, published)
    )
    assert f"10 MB take {here['tcp']:.1f} % longer than with TCP, averaged over three loads" in PAGE
    assert f"(published: {theirs['tcp']:.1f} %)" in PAGE
    both = f"makes {theirs['dctcp-30k']:.1f} % more than DCTCP-30K; ours {here['dctcp-30k']:.1f} %"
    assert both in PAGE


def ratios(name, scheme, metric, statistic, **more):
    return np.array([c.ratio for c in kept(name, scheme, metric, statistic, **more)])


def test_table_2_in_words():
    at_60 = [
        ratios("table2", scheme, "fct_10MB_ms", statistic, xs=[60])[0]
        for statistic in ("mean", "p99")
        for scheme in SCHEMES
    ]
    assert f"at 60 % by {span([100 * (1 - each) for each in at_60[:4]])} % on average" in PAGE
    assert f"takes {span([100 * (each - 1) for each in at_60[4:]])} % longer" in PAGE
    shorter = {scheme: 100 * (1 - ratios("table2", scheme, "switch_latency_us", "mean")) for scheme in SCHEMES}
    assert f"DCTCP-6K-pacer's mean queues are {span(shorter['dctcp-6k-pacer'])} % shorter" in PAGE
    assert f"HULL's {span(shorter['hull'])} %" in PAGE
    assert f"its scripts {SMALL_PER_LARGE}" in PAGE


def test_figure_1b_in_words():
    k_us = 30_000 * 8 / 1000
    queue = ours("figure1b", "dctcp-30k", "switch_latency_us", "mean")
    assert f"is at {span(queue / k_us, 2)} of its K" in PAGE
    two, three = kept("figure1b", "hull", "switch_latency_us", "mean", xs=[2, 3])
    seeds = " and ".join(f"{c.lowest:.1f} to {c.highest:.1f}" for c in (two, three))
    assert f"{seeds} us by seed (published: {two.published:.1f} and {three.published:.1f})" in PAGE
    steps = np.diff(ours("figure1b", "hull", "switch_latency_us", "mean")[2:])
    assert steps == pytest.approx(2 * 640 * 8 / 1000, rel=0.15)


def test_figure_1c_in_words():
    assert ours("figure1c", "hull", "switch_latency_us", "mean").max() < 2
    goodput = "figure1c", "hull", "goodput_mbps", "mean"
    assert f"get {span(ours(*goodput))} Mb/s of payload (the authors': {span(published(*goodput))})" in PAGE
    assert f"of the {0.9 * 1000 * 600 / 640:.0f} that would drain" in PAGE


def test_figure_4_in_words():
    for metric, percent in (("query_completion_ms", 4), ("mean_response_ms", 5)):
        both = [ratios("figure4", scheme, metric, "p99") for scheme in ("hull", "dctcp-30k")]
        assert abs(np.concatenate(both) - 1).max() < percent / 100
    tcp = kept("figure4", "tcp", "query_completion_ms", "p99", xs=[600])[0]
    assert f"({tcp.ours:.1f} ms against {tcp.published:.1f} at 600 Mb/s)" in PAGE
    latency = "switch_latency_us", "p99"
    small, middle, large = ours("figure4", "hull", *latency, xs=BESIDE)
    theirs = "{:.1f}, {:.0f} and {:.0f}".format(*published("figure4", "hull", *latency, xs=BESIDE))
    assert f"HULL's {small:.1f}, {middle:.1f} and {large:.0f} us (published: {theirs})" in PAGE
    dctcp = "figure4", "dctcp-30k", *latency
    assert f"DCTCP-30K's {span(ours(*dctcp, xs=BESIDE))} ({span(published(*dctcp, xs=BESIDE))})" in PAGE


def test_the_reproduction_of_figure_4_in_words():
    def at_600(scheme, *which):
        return kept("figure4", scheme, *which, xs=[600], variant="reproduction")[0]

    query, mean = (at_600("tcp", metric, "p99") for metric in ("query_completion_ms", "mean_response_ms"))
    assert f"takes {query.ours:.1f} ms for a query's 99th percentile (published: {query.published:.1f})" in PAGE
    assert f"but {mean.ours:.1f} ms for the mean response's ({mean.published:.1f})" in PAGE
    served = at_600("tcp", "servers_in_time", "worst 1%")
    assert f"queries {served.ours:.1f} servers answer in time ({served.published:.1f})" in PAGE
    hull, dctcp = (at_600(scheme, "switch_latency_us", "p99") for scheme in ("hull", "dctcp-30k"))
    assert f"it is {hull.ours:.0f} us against {dctcp.ours:.0f} in the reproduction" in PAGE
    assert f"as in its files ({hull.published:.0f} and {dctcp.published:.0f})" in PAGE
    opening = [
        kept("figure4", "tcp", "timeouts", "mean", xs=[200], variant=variant)[0]
        for variant in ("reproduction", "conforming")
    ]
    assert [c.lowest for c in opening] == [c.highest for c in opening]  # the load has no part in them
    assert f"{opening[0].ours:.0f} and {opening[1].ours:.0f} come while connections open" in PAGE
    latency = kept("figure4", "hull", "switch_latency_us", "p99", xs=BESIDE)
    low, middle, high = (f"{c.lowest:.{d}f} to {c.highest:.{d}f}" for c, d in zip(latency, (1, 1, 0), strict=True))
    assert f"HULL's are {low}, {middle} and {high} by seed" in PAGE


def test_figure_5_in_words():
    assert (ours("figure5", "hull", "servers_in_time", "worst 1%") == 10).all()
    query = "query_completion_ms", "p99"
    sooner = {
        (of, other): span(
            100 * (1 - of("figure5", "hull", *query, xs=BESIDE) / of("figure5", other, *query, xs=BESIDE))
        )
        for of in (ours, published)
        for other in ("dctcp-30k", "tcp")
    }
    assert f"{sooner[ours, 'dctcp-30k']} % sooner than DCTCP-30K" in PAGE
    assert f"{sooner[ours, 'tcp']} % sooner than TCP" in PAGE
    files = f"{sooner[published, 'dctcp-30k']}"
    assert f"(In the authors' files {files} % and {sooner[published, 'tcp']} %;" in PAGE
    assert f"in the text, {files} % in the files" in PAGE
    mine, theirs = (span(of("figure5", "hull", *query, xs=BESIDE), 2) for of in (ours, published))
    assert f"({mine} ms; {theirs})" in PAGE
    known = [ratios("figure5", scheme, "mean_response_ms", "p99") for scheme in ("tcp", "dctcp-30k", "hull")]
    assert abs(np.concatenate(known) - 1).max() < 0.115
    assert abs(np.concatenate([each[2:] for each in known[1:]]) - 1).max() < 0.055


def test_sensitivity_in_words():
    kept_rows = rows("sensitivity")
    points = {
        (row["parameter"], float(row["value"]), row["metric"], row["statistic"]): float(row["ours"])
        for row in kept_rows
    }
    assert {row["seeds"] for row in kept_rows} == {"5"}
    by_seed = next(
        f"{float(row['lowest']):.1f} to {float(row['highest']):.1f}"
        for row in kept_rows
        if (row["parameter"], row["value"], row["metric"], row["statistic"])
        == ("drain", "0.95", "switch_latency_us", "p99")
    )

    def latency(parameter, value):
        return points[parameter, value, "switch_latency_us", "p99"]

    def large(parameter, value):
        return points[parameter, value, "fct_10MB_ms", "mean"]

    def small(value):
        return points["phantom_kb", value, "fct_900B_us", "p99"]

    default = latency("drain", 0.95), large("drain", 0.95)
    assert f"take {large('phantom_kb', 1.5):.0f} ms instead of {default[1]:.0f} " in PAGE
    assert f"(below; {latency('phantom_kb', 1.5):.0f} and {small(1.5):.0f} us where it is in front)" in PAGE
    assert f"({latency('phantom_kb', 6):.1f} us instead of {latency('phantom_kb', 3):.1f}; small files," in PAGE
    assert f"{small(6):.0f} us instead of {small(3):.0f})" in PAGE
    assert f"files ({large('drain', 0.99):.0f} ms) *and* less latency ({latency('drain', 0.99):.1f} us)" in PAGE
    assert f"than 0.95 at this load ({default[0]:.1f}; by seed {by_seed})" in PAGE
    for drain in (0.85, 0.9):
        assert latency("drain", drain) > default[0]
        assert large("drain", drain) > default[1]
    smoother = [latency(*each) for each in (("beta", 4), ("bucket_kb", 1.5), ("associate", 0.5))]
    assert "({:.1f}, {:.1f} and {:.1f} us instead of {:.1f})".format(*smoother, default[0]) in PAGE
    for parameter, value, *_ in points:
        if parameter in ("beta", "bucket_kb", "associate"):
            assert large(parameter, value) == pytest.approx(default[1], rel=0.06)
    assert large("idle_ms", 0) == pytest.approx(default[1], rel=0.02)
