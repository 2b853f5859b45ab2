"""The simulated numbers of docs/answers.md and docs/workloads.md are those of the files in results/simulated."""

from pathlib import Path
from statistics import mean

import pytest

from tests.paper.commands import rows

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/answers.md").read_text()
SCHEMES = ("hedera-gff", "hedera-sa")


def gains(k, engine):
    """By flows per host: what ECMP has of the control, what the others have over ECMP, and what is large."""
    kept = rows(ROOT / f"results/simulated/flows_per_host_k{k}.csv")
    found = [row for row in kept if row["engine"] == engine]
    for flows, keep in dict.fromkeys((row["flows_per_host"], row["keep"]) for row in found):
        here = [row for row in found if (row["flows_per_host"], row["keep"]) == (flows, keep)]
        cells = [average(here, "over_control", "ecmp")]
        for threshold in ("0.1", "0.01"):
            cells += [average(here, "over_ecmp", scheme, threshold) for scheme in SCHEMES]
        cells.append(average(here, "over_ecmp", "nonblocking"))
        large = average(here, "large_share", "hedera-gff", "0.1")
        name = flows if float(keep) == 1 else f"{flows}, half dropped"
        yield f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {large:.0%} |"


def average(here, column, scheme, threshold=""):
    values = [float(row[column]) for row in here if (row["scheme"], row["threshold"]) == (scheme, threshold)]
    assert len(values) == 3, "three patterns"
    return mean(values)


def completions():
    """The mean slowdown by size class, curve and load, as spelled; and the loads, in their order."""
    found = [r for r in rows(ROOT / "results/simulated/completion_k16.csv") if r["beside"] == "False"]
    loads = sorted({row["load"] for row in found}, key=float)
    by = {}
    for row in found:
        detected = ", upon detection" if row["detect_s"] else ""
        when = f", {float(row['interval_s']):g} s" if row["interval_s"] else detected
        by[row["size_class"], row["scheme"] + when, row["load"]] = row["mean_slowdown"]
    return by, loads


def slowdowns(size_class):
    """By scheme: its mean slowdown over ECMP's, at every load."""
    by, loads = completions()
    for curve in dict.fromkeys(key[1] for key in by):
        values = [(by.get((size_class, curve, load)), by[size_class, "ecmp", load]) for load in loads]
        if curve != "ecmp" and any(ours for ours, _ in values):
            cells = (f"{float(ours) / float(ecmp):.2f}" if ours else "" for ours, ecmp in values)
            yield f"| {curve} | {' | '.join(cells)} |"


def mean_slowdowns():
    """By scheme: the mean slowdowns of small and of large flows, at every load."""
    by, loads = completions()
    for curve in dict.fromkeys(key[1] for key in by):
        values = [(by.get(("small", curve, load)), by.get(("large", curve, load))) for load in loads]
        if any(small for small, _ in values):
            cells = (f"{float(small):.2f} / {float(large):.2f}" if small else "" for small, large in values)
            yield f"| {curve} | {' | '.join(cells)} |"


@pytest.mark.parametrize(("k", "engine"), [(4, "maxmin"), (4, "aimd"), (16, "maxmin")])
def test_gains_by_flows_per_host(k, engine):
    for line in gains(k, engine):
        assert line in TEXT


@pytest.mark.parametrize("size_class", ["small", "large"])
def test_slowdowns_over_ecmps(size_class):
    for line in slowdowns(size_class):
        assert line in TEXT


def test_mean_slowdowns():
    text = (ROOT / "docs/workloads.md").read_text()
    for line in mean_slowdowns():
        assert line in text


EIGHT = (
    "stride:1",
    "stride:2",
    "stride:4",
    "stride:8",
    "staggered:0.2,0.3",
    "staggered:0.5,0.3",
    "random",
    "randbij",
)
THREE = ("stride:8", "random", "randbij")


@pytest.mark.parametrize(("flows", "suffix"), [("2", "x2"), ("6, half dropped", "x6 keep 0.5")])
@pytest.mark.parametrize(("named", "patterns"), [("these three", THREE), ("all eight", EIGHT)])
def test_real_tcp(flows, suffix, named, patterns):
    kept = rows(ROOT / "results/replication/summary.csv")
    share = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in kept}
    cells = [mean(share[f"{one} {suffix}", "ecmp"] for one in patterns)]
    for scheme in (*SCHEMES, "nonblocking"):
        cells.append(
            mean(share[f"{one} {suffix}", scheme] / share[f"{one} {suffix}", "ecmp"] for one in patterns)
        )
    assert f"| {flows} | {named} | {' | '.join(f'{cell:.2f}' for cell in cells)} |" in TEXT
