"""The tables of docs/conditions.md are those of the summaries in results/."""

from pathlib import Path
from statistics import mean

from plots.conditions import compare
from plots.sample import Sample
from plots.style import label
from tests.paper.commands import rows

RESULTS = Path(__file__).parents[2] / "results"
TEXT = (RESULTS.parent / "docs/conditions.md").read_text()
SCHEMES = ("ecmp", "hedera-gff", "hedera-sa")
BASE = "25 Mb/s, 9000 bytes, 50 packets, cubic"
CONDITIONS = {
    "rate-10": "`--bw 10`",
    "rate-100": "`--bw 100`",
    "rate-200": "`--bw 200`",
    "packets-1500": "`--mtu 1500`",
    "queue-10": "`--queue 10`",
    "queue-200": "`--queue 200`",
    "reno": "`--congestion-control reno`",
}


def whole_sweeps():
    """By scheme: its share in either whole sweep of Figure 9, and the differences."""
    found = compare([RESULTS / "sample", RESULTS / "sample-100mbps"]).rows()
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert first.patterns == second.patterns == 20
        cells = (
            f"{100 * first.share:.1f}",
            f"{100 * second.share:.1f}",
            f"{second.difference_points:+.1f}",
            f"{second.low_points:+.1f} to {second.high_points:+.1f}",
            f"{second.largest_points:+.1f} {label(second.largest_pattern)}",
        )
        yield f"| {first.scheme} | {' | '.join(cells)} |"


def conditions():
    """By condition: the control's share of the capacity, and of every scheme its share of the control."""
    base = RESULTS / "conditions/base"
    shares = Sample.read(base, base.name).shares()
    means = [mean(share.median for (_, own), share in shares.items() if own == scheme) for scheme in SCHEMES]
    yield f"| {BASE} | {100 * control(base):.1f} | {' | '.join(f'{100 * share:.1f}' for share in means)} |"
    for name, spelled in CONDITIONS.items():
        folder = base.parent / name
        found = {row.scheme: row for row in compare([base, folder]).rows() if row.folder == name}
        cells = " | ".join(cell(found[scheme]) for scheme in SCHEMES)
        yield f"| {spelled} | {100 * control(folder):.1f} | {cells} |"


def control(folder):
    """The non-blocking network's share of the capacity, the mean over patterns."""
    kept = [row for row in rows(folder / "summary.csv") if row["scheme"] == "nonblocking"]
    return mean(float(row["median_mbps"]) / float(row["capacity_mbps"]) for row in kept)


def cell(row):
    """A share, and its difference with the interval."""
    within = f"{row.low_points:+.1f} to {row.high_points:+.1f}"
    return f"{100 * row.share:.1f} ({row.difference_points:+.1f}; {within})"


def second_kernel():
    """By scheme and pattern: shares with cubic and with DCTCP."""
    folders = [RESULTS / "conditions/kernel-cubic", RESULTS / "conditions/kernel-dctcp"]
    found = compare(folders).pattern_rows()
    for cubic, dctcp in zip(found[::2], found[1::2], strict=True):
        shares = f"{100 * cubic.share:.1f} | {100 * dctcp.share:.1f} ({dctcp.difference_points:+.1f})"
        yield f"| {cubic.scheme} | {label(cubic.pattern)} | {shares} |"


def test_whole_sweeps():
    for line in whole_sweeps():
        assert line in TEXT


def test_conditions():
    for line in conditions():
        assert line in TEXT


def test_second_kernel():
    for line in second_kernel():
        assert line in TEXT
