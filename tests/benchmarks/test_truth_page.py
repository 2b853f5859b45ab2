"""docs/virtual-time-truth.md and its note against results/virtual: every line of their tables is in the data."""

from itertools import groupby
from pathlib import Path
from statistics import mean, median, stdev

import pytest

from plots.conditions import compare
from plots.style import label
from plots.truth import SAWTOOTH
from tests.paper.commands import is_png, rows

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "virtual"
PAGES = [ROOT / "docs" / name / "virtual-time-truth.md" for name in (".", "notes")]
SWEEPS = [KEPT / "real-10mbps", KEPT / "virtual-10mbps"]
STUDENT = {4: 3.182, 5: 2.776}
"""Student's t for so many, 95 %."""


def lines_there():
    return [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]


def text():
    return " ".join(" ".join(lines_there()).split())


def interval(values):
    """The mean and half of its 95 % interval."""
    return mean(values), STUDENT[len(values)] * stdev(values) / len(values) ** 0.5


def lasting(kind, **which):
    found = [row for row in rows(KEPT / "lasting.csv") if row["kind"] == kind]
    return [row for row in found if all(row[name] == str(value) for name, value in which.items())]


def lone_flows():
    """By rate: goodput of what headers leave, and the mean queue of a full one, with cubic and Reno."""
    for one in lasting("one", congestion_control="cubic"):
        mbps = one["mbps"]
        ours = [one, *lasting("direct", mbps=mbps), *lasting("jumbo", mbps=mbps)]
        cells = [f"{100 * float(row['goodput_mbps']) / float(row['payload_mbps']):.2f}" for row in ours]
        for row in lasting("one", mbps=mbps):
            cells.append(f"{float(row['queue_mean_ms']) / float(row['full_ms']):.3f}")
        cells.append(f"{float(one['full_ms']):,.3g}")
        cells.append(f"{float(one['rtt_mean_ms']) - float(one['queue_mean_ms']):.3g}")
        yield f"| {float(mbps):,.0f} | {' | '.join(cells)} |"


def two_flows():
    """By rate and kind of time: the sum, the lesser flow's share, timeouts, and the mean queue."""
    real = [row for row in rows(KEPT / "real.csv") if row["kind"] == "two"]
    found = [("real", row) for row in real] + [("virtual", row) for row in lasting("two")]
    for time, mbps in dict.fromkeys((time, row["mbps"]) for time, row in found):
        ours = [row for kind, row in found if (kind, row["mbps"]) == (time, mbps)]
        total = interval([100 * float(row["goodput_mbps"]) / float(row["payload_mbps"]) for row in ours])
        least = interval([100 * float(row["least_flow_mbps"]) / float(row["goodput_mbps"]) for row in ours])
        waits = mean(int(row["timeouts"]) for row in ours)
        full = mean(float(row["queue_mean_ms"]) / float(row["full_ms"]) for row in ours)
        cells = (
            f"{float(mbps):,.0f}",
            time,
            f"{total[0]:.2f} ± {total[1]:.2f}",
            f"{least[0]:.1f} ± {least[1]:.1f}",
            f"{waits:.1f}",
            f"{full:.2f}",
        )
        yield f"| {' | '.join(cells)} |"


def incasts():
    """By rate and senders: the ideal, and for either least retransmission time what it took."""
    found = rows(KEPT / "incast.csv")
    for (mbps, queue, senders), ours in groupby(found, lambda row: (row["mbps"], row["queue_packets"], row["senders"])):
        by_least = {}
        for row in ours:
            by_least.setdefault(row["rto_min_ms"], []).append(row)
        cells = [f"{float(by_least['200'][0]['ideal_ms']):,.4g}"]
        for least in ("200", "5"):
            took = sorted(float(row["took_ms"]) for row in by_least[least])
            cells += [
                f"{median(took):,.4g} ({took[0]:,.4g} to {took[-1]:,.4g})",
                by_least[least][0]["timeouts"],
            ]
        yield f"| {float(mbps):,.0f} | {queue} | {senders} | {' | '.join(cells)} |"


def marks():
    """DCTCP and cubic on one link, queues in frames."""
    for control in ("cubic", "dctcp"):
        ours = lasting("marks", congestion_control=control)
        if not ours:
            continue
        frames = [
            [float(row[name]) / float(row["frame_ms"]) for row in ours]
            for name in ("queue_mean_ms", "queue_p99_ms", "queue_max_ms")
        ]
        mean_, half = interval(frames[0])
        total = interval([100 * float(row["goodput_mbps"]) / float(row["payload_mbps"]) for row in ours])
        marked, drops = (mean(int(row[name]) for row in ours) for name in ("marked", "drops"))
        cells = (
            f"{mean_:.1f} ± {half:.1f}",
            f"{mean(frames[1]):.1f}",
            f"{max(frames[2]):.0f}",
            f"{total[0]:.2f} ± {total[1]:.2f}",
            f"{marked:,.0f}",
            f"{drops:,.0f}",
        )
        yield f"| {control} | {' | '.join(cells)} |"


def second_kernel():
    """Shares of the control with cubic and DCTCP, in real time and in virtual time."""
    real = {
        control: {
            (row["pattern"], row["scheme"]): float(row["median_ratio"])
            for row in rows(ROOT / f"results/conditions/kernel-{control}/summary.csv")
        }
        for control in ("cubic", "dctcp")
    }
    found = {
        (row["congestion_control"], row["traffic"], row["scheme"]): row for row in rows(KEPT / "second_kernel.csv")
    }
    for scheme in ("ecmp", "hedera-sa"):
        for pattern in dict.fromkeys(key[1] for key in found):
            cells = []
            for control in ("cubic", "dctcp"):
                over = float(found[control, pattern, scheme]["bisection_mbps"]) / float(
                    found[control, pattern, "nonblocking"]["bisection_mbps"]
                )
                cells += [f"{100 * real[control][pattern, scheme]:.1f}", f"{100 * over:.1f}"]
            yield f"| {scheme} | {label(pattern)} | {' | '.join(cells)} |"


def repeated():
    """By scheme and kind of pair: how far apart, mean and most."""
    for (scheme, kind), ours in groupby(rows(KEPT / "pairs.csv"), lambda row: (row["scheme"], row["kind"])):
        kept = list(ours)
        cells = []
        for name in ("total_percent", "mean_flow_percent", "largest_flow_percent"):
            values = [float(row[name]) for row in kept]
            cells.append(f"{mean(values):.1f} ({max(values):.1f})")
        cells.append(f"{mean(int(row['paths']) for row in kept):.1f}")
        yield f"| {scheme} | {kind} | {len(kept)} | {' | '.join(cells)} |"


def beside_ns3():
    """By rate, TCP and pair of backends: flows of a class, and the ratio of completion times."""
    for row in rows(KEPT / "ns3.csv"):
        if row["size_class"] not in ("small", "medium", "all"):
            continue
        cells = [row["first"] + " / " + row["second"], row["size_class"], row["both"]]
        cells += [f"{float(row[name]):.2f}" for name in ("correlation", "median_ratio", "p10_ratio", "p90_ratio")]
        yield f"| {float(row['mbps']):g} | {row['congestion_control']} | {' | '.join(cells)} |"


def larger():
    """Runs on larger trees."""
    for row in rows(KEPT / "larger.csv"):
        cells = (
            row["k"],
            f"{row['hosts']}, {row['switches']}",
            row["scheme"],
            row["verdict"],
            f"{100 * float(row['of_capacity']):.1f}",
            f"{float(row['bisection_mbps']) / float(row['maxmin_mbps']):.3f}",
        )
        yield f"| {' | '.join(cells)} |"


def sweeps():
    """By scheme: shares of the control in real and in virtual time, and their difference over the patterns."""
    found = compare(SWEEPS).rows()
    for real, virtual in zip(found[::2], found[1::2], strict=True):
        cells = (
            str(virtual.patterns),
            f"{100 * real.share:.1f}",
            f"{100 * virtual.share:.1f}",
            f"{virtual.difference_points:+.1f}",
            f"{virtual.low_points:+.1f} to {virtual.high_points:+.1f}",
            f"{virtual.largest_points:+.1f} {label(virtual.largest_pattern)}",
        )
        yield f"| {real.scheme} | {' | '.join(cells)} |"


TABLES = {
    lone_flows: "lasting",
    two_flows: "lasting",
    incasts: "incast",
    marks: "lasting",
    repeated: "pairs",
    beside_ns3: "ns3",
    larger: "larger",
    second_kernel: "second_kernel",
}
"""And the file that each is of."""


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_those_of_the_data(table):
    """What has not been measured is said to be missing."""
    lines = list(table()) if (KEPT / f"{TABLES[table]}.csv").exists() else []
    if not lines:
        assert f"`{table.__name__}` is not here yet" in text()
    for line in lines:
        assert line in lines_there()


def test_the_sweeps_when_both_are_there():
    if not all((folder / "summary.csv").exists() for folder in SWEEPS):
        assert "the two sweeps are not here yet" in text()
        return
    for line in sweeps():
        assert line in lines_there()
    assert is_png(KEPT / "sweeps.png")


@pytest.mark.parametrize("name", ["theory", "ns3"])
def test_the_pictures_are_there(name):
    assert f"/results/virtual/{name}.png)" in text()
    assert is_png(KEPT / f"{name}.png")


def test_a_lone_flow_has_what_the_headers_leave():
    for row in [row for kind in ("one", "direct", "jumbo") for row in lasting(kind)]:
        slow_start = 4e-3 if (row["kind"], row["mbps"]) == ("direct", "10000") else 0.0  # of 0.3 s
        share = float(row["goodput_mbps"]) / float(row["payload_mbps"])
        assert 1 - 5e-4 - slow_start <= share <= 1 + 5e-4
        assert float(row["queue_max_ms"]) <= float(row["full_ms"]) + 1e-9
        assert row["timeouts"] == "0"


def test_the_queue_is_a_sawtooth_at_10_mbps():
    found = {row["congestion_control"]: row for row in lasting("one", mbps="10")}
    assert set(found) == set(SAWTOOTH)
    for control, row in found.items():
        assert float(row["queue_mean_ms"]) / float(row["full_ms"]) == pytest.approx(SAWTOOTH[control], rel=0.015)


def test_two_flows_at_10_mbps_in_words():
    assert sum(int(row["timeouts"]) for row in lasting("two", mbps="10")) == 0
    real = [int(row["timeouts"]) for row in rows(KEPT / "real.csv") if row["kind"] == "two"]
    assert f"real time had {min(real)} to {max(real)} timeouts" in text()


def test_two_senders_into_a_queue_that_holds_enough_meet_the_ideal():
    found = [row for row in rows(KEPT / "incast.csv") if (row["queue_packets"], row["senders"]) == ("50", "2")]
    assert len(found) == 10
    for row in found:
        assert float(row["took_ms"]) / float(row["ideal_ms"]) == pytest.approx(1, abs=0.006)


if __name__ == "__main__":
    for table in (*TABLES, sweeps):
        print(f"\n{table.__name__}")
        try:
            print(*table(), sep="\n")
        except (OSError, ValueError) as error:
            print(error)
