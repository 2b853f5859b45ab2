"""Claims of the simulator on the paper's larger figures, and on what its text leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from paper import explain_sa, figure_10
from paper.claims.claim import UNKNOWN, Claim, Source, rows
from paper.claims.simulated import ANSWERS, TABLE_3
from paper.scale import interval
from topos.arrays import Float64

SENSITIVITY = Source("simulated/sensitivity.csv", "python -m benchmarks.simulator_sensitivity", UNKNOWN)

FIGURE_10 = Source("simulated/figure10_k32.csv", "hedera figure 10", "6 minutes of a processor", again=True)
FIGURE_11 = Source("simulated/figure11_k16.csv", "hedera figure 11", "7 s of a processor", again=True)
NOTE = "docs/notes/simulator.md"
SA_TOOK = "75 s of a processor"
EXPLAIN_SA = Source("simulated/explain_sa_k32.csv", "hedera explain-sa", SA_TOOK, again=True)
SEARCHES = Source("simulated/explain_sa_search_k32.csv", "hedera explain-sa", SA_TOOK)
EXPLAIN_SA_16 = Source("simulated/explain_sa_k16.csv", "hedera explain-sa -k 16", "15 s of a processor", again=True)
ONE_CORE = Source("simulated/explain_sa_patterns.csv", "hedera explain-sa", SA_TOOK, again=True)


def _readings(path: Path) -> Iterator[str]:
    """Global First Fit over ECMP with 12 flows per host."""
    found = [row for row in rows(path) if row["study"].startswith("12 flows per host")]
    share = {(row["choice"].removesuffix(" *"), row["scheme"]): float(row["percent"]) for row in found}
    read, by_rate, shuffled = (
        share[choice, "hedera-gff"] / share[choice, "ecmp"] for choice in ("0, 0", "1, 0", "0, 1")
    )
    yield (
        f"Global First Fit has {read:.2f} of ECMP, {by_rate:.2f} by measured rates (first fit then stacks ten of "
        f"them on one link), and {shuffled:.2f} in a random order"
    )


def _spelled(values: Float64, unit: str = " %") -> str:
    """The mean over seeds with its interval."""
    found = interval(values)
    return f"{found.mean:.1f}{unit} ({found.spread.strip()})"


def _bandwidth(path: Path) -> Iterator[str]:
    """What a core per host gets over a core per flow, by iterations."""
    found = [
        explain_sa.Bandwidth(
            row["engine"],
            row["scheme"],
            int(row["iterations"]) if row["iterations"] else None,
            int(row["seed"]),
            float(row["percent_of_full"]),
        )
        for row in rows(path)
    ]
    aimd = [_spelled(explain_sa.gains(found, "aimd", count)) for count in explain_sa.COUNTS]
    fair = [f"{explain_sa.gains(found, 'maxmin', count).mean():.1f}" for count in explain_sa.COUNTS]
    yield (
        f"{aimd[0]} more with 1,000 iterations, {aimd[1]} with 10,000 and {aimd[2]} with 100,000 "
        f"(max-min {fair[0]}, {fair[1]} and {fair[2]} %)"
    )


def _work(path: Path) -> Iterator[str]:
    """How often a core per flow takes the work of a core per host, for as good a placement."""
    found = [
        explain_sa.Search(
            row["scheme"],
            int(row["iterations"]),
            int(row["seed"]),
            float(row["excess_links"]),
            float(row["search_ms"]),
        )
        for row in rows(path)
    ]
    for count in explain_sa.COUNTS:
        more, longer = explain_sa.times_less(found, count)
        most = f"{_spelled(more, ' times')} the iterations, {_spelled(longer, ' times')} the time"
        yield f"{count:,} iterations: {most}"


def _patterns(path: Path) -> Iterator[str]:
    """What no assignment of a core to each host can place."""
    found = rows(path)
    if any(float(row["per_flow_links"]) for row in found):
        return
    least = [float(row["least_excess_links"]) for row in found if row["pattern"] == "counter-example"]
    drawn = [float(row["least_excess_links"]) for row in found if row["pattern"].startswith("random")]
    links = " and ".join((", ".join(f"{value:.2f}" for value in least[:-1]), f"{least[-1]:.2f}"))
    yield f"at least {links} of a link exceeded with k = 4, 6 and 8"
    yield f"{sum(value > 0 for value in drawn)} of {len(drawn)} random patterns"


def _suite(path: Path) -> dict[str, figure_10.Shares]:
    """Figure 10's shares by engine."""
    found = [
        figure_10.Share(
            row["engine"],
            row["traffic"],
            row["scheme"],
            int(row["seed"]),
            float(row["bisection_mbps"]),
            float(row["percent_of_full"]),
        )
        for row in rows(path)
    ]
    return {
        engine: figure_10.by_pattern([row for row in found if row.engine == engine]) for engine in ("aimd", "maxmin")
    }


def _of_optimal(path: Path) -> Iterator[str]:
    """Of the non-blocking network, on average over the suite."""
    for engine, shares in _suite(path).items():
        cells = []
        for scheme in ("hedera-sa", "hedera-gff", "hedera-clos"):
            optimal = list(figure_10.of_optimal(shares, scheme).values())
            cells.append(f"`{scheme}` {_spelled(np.mean(optimal, axis=0))}")
        yield f"{engine}: {', '.join(cells)}"


def _over_static(path: Path) -> Iterator[str]:
    """More than ECMP, where that is most."""
    for engine, shares in _suite(path).items():
        cells = []
        for scheme in ("hedera-sa", "hedera-gff", "nonblocking"):
            gain = figure_10.over_static(shares, scheme)
            if max(gain, key=lambda pattern: float(gain[pattern].mean())) != "randbij":
                return
            cells.append(f"`{scheme}` {_spelled(gain['randbij'])}")
        yield f"{engine}: {', '.join(cells)}"


def _ahead(path: Path) -> Iterator[str]:
    """Where Global First Fit is ahead of Simulated Annealing with an interval above 0, in points of capacity."""
    for engine, shares in _suite(path).items():
        cells = [
            f"`{pattern}` {_spelled(shares[pattern, 'hedera-gff'] - shares[pattern, 'hedera-sa'], '')}"
            for pattern in figure_10.ahead(shares)
        ]
        yield f"{engine}: {', '.join(cells)}"


def _over_time(path: Path) -> Iterator[str]:
    """Figure 11: percent of the non-blocking network's bandwidth with the same seed, seconds 10 to 50."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows(path):
        if 10 < float(row["seconds"]) < 50:
            found.setdefault(row["scheme"], {}).setdefault(row["seed"], []).append(float(row["gbps"]))
    means = {scheme: np.array([np.mean(one) for one in by.values()]) for scheme, by in found.items()}
    cells = [
        f"`{scheme}` {_spelled(100 * means[scheme] / means['nonblocking'])}"
        for scheme in ("ecmp", "hedera-gff", "hedera-clos", "hedera-sa")
    ]
    yield f"of the non-blocking network {', '.join(cells)}"
    yield f"annealing is {_spelled(100 * (means['hedera-sa'] / means['hedera-clos'] - 1))} above `hedera-clos`"


def _plateau(path: Path) -> Iterator[str]:
    """Table 3, 8,192 hosts and most iterations: percent of the control with the same seed."""
    from scipy.stats import t as student  # type: ignore[import-untyped]

    found = {
        row["engine"]: row
        for row in rows(path)
        if (row["hosts"], row["scheme"], row["interval_s"], row["iterations"]) == ("8192", "hedera-sa", "5", "2000000")
    }
    cells = []
    for engine in ("aimd", "maxmin"):
        row, seeds = found[engine], int(found[engine]["seeds"])
        ours = float(row["of_control_percent"])
        half = student.ppf(0.975, seeds - 1) * float(row["of_control_sd_percent"]) / seeds**0.5
        cells.append(f"{ours:.1f} % ({ours - half:.1f} to {ours + half:.1f})")
    paper = float(found["aimd"]["published_of_control_percent"])
    yield (
        f"Simulated Annealing with 2,000,000 iterations gets {cells[0]} under AIMD and {cells[1]} under max-min, "
        f"{found['aimd']['seeds']} seeds; the paper's table has {paper:.1f} %"
    )


CLAIMS = (
    Claim("Figure 10: of the non-blocking network", NOTE, FIGURE_10, _of_optimal),
    Claim("Figure 10: over ECMP", NOTE, FIGURE_10, _over_static),
    Claim("Figure 10: first fit ahead of annealing", NOTE, FIGURE_10, _ahead),
    Claim("Figure 11: of the non-blocking network", NOTE, FIGURE_11, _over_time),
    Claim("Readings of first fit with many flows", ANSWERS, SENSITIVITY, _readings),
    Claim("Table 3's plateau", "docs/simulator.md", TABLE_3, _plateau),
    Claim("A core per host: bandwidth", NOTE, EXPLAIN_SA, _bandwidth),
    Claim("A core per host: work", NOTE, SEARCHES, _work, "the time, on another machine"),
    Claim("A core per host: bandwidth at 1,024 hosts", NOTE, EXPLAIN_SA_16, _bandwidth),
    Claim("A core per host: patterns", "docs/simulator.md", ONE_CORE, _patterns),
)
