"""Claims on Mininet-HiFi's other two experiments: DCTCP's queue, and the sizes of buffers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paper.claims.claim import EMULATED, Claim, Source, interval_told, rows

DCTCP = Source("hifi/dctcp.csv", "hedera hifi dctcp", "10 runs, 2 minutes of a processor")
AGAIN = Source("hifi/dctcp-again.csv", "hedera hifi dctcp", "10 runs, 2 minutes of a processor")
FASTER = Source("hifi/dctcp-1g.csv", "hedera hifi dctcp --bw 1000", "10 runs, 3 minutes of a processor")
JITTER = Source("hifi/dctcp-jitter.csv", "hedera hifi dctcp --varying-delay", "10 runs, 3 minutes of a processor")
LEAST = Source("hifi/least.csv", "hedera hifi buffers", "half an hour of a processor")
POINTS = Source("hifi/buffers.csv", "hedera hifi buffers", "half an hour of a processor")
NAMES = {"dctcp": "DCTCP", "reno": "TCP (Reno)"}
COLUMNS = ("p5", "median", "p95")


def _queues(path: Path) -> Iterator[str]:
    """Means over seeds, with Student's intervals."""
    found = rows(path)
    for control, name in NAMES.items():
        own = [row for row in found if row["congestion_control"] == control]
        cells = [interval_told([float(row[column]) for row in own], ".1f") for column in COLUMNS]
        yield f"| {name}, ours | {' | '.join(cells)} |"


def _medians(path: Path) -> Iterator[str]:
    found = rows(path)
    dctcp, reno = (
        interval_told([float(row["median"]) for row in found if row["congestion_control"] == control], ".1f")
        for control in NAMES
    )
    yield f"the median is {dctcp} packets under DCTCP and {reno} under TCP"


def _locked_out(path: Path) -> Iterator[str]:
    """Runs of TCP in which one flow hardly sends."""
    own = [row for row in rows(path) if row["congestion_control"] == "reno"]
    out = [row for row in own if float(row["least_flow_mbps"]) < 1]
    for row in out:
        yield (
            f"in {len(out)} of {len(own)} runs of TCP one flow had {float(row['least_flow_mbps']):.1f} Mb/s, after "
            f"{row['timeouts']} timeouts, and the queue stood at {float(row['median']):.0f} packets"
        )


def _with_jitter(path: Path) -> Iterator[str]:
    own = [row for row in rows(path) if row["congestion_control"] == "dctcp"]
    late = [row for row in own if float(row["p95"]) > 30]
    reordered = min(int(row["out_of_order"]) for row in own)
    yield (
        f"{reordered:,} segments or more arrive out of order in each run of DCTCP, and {len(late)} of {len(own)} "
        f"has its 95th percentile at {max(float(row['p95']) for row in own):.0f} packets"
    )


def _least(path: Path) -> Iterator[str]:
    """By flows: the smallest buffer for each share of the link, under Reno and cubic."""
    found = rows(path)
    for flows in dict.fromkeys(row["flows"] for row in found):
        own = [row for row in found if row["flows"] == flows]
        cells = [row["least"] for row in own]
        yield f"| {flows} | {float(own[0]['rule']):.0f} | {' | '.join(cells)} |"


def _cells(path: Path) -> Iterator[str]:
    for row in rows(path):
        if row["link"] == "appenzeller":
            yield f"| {row['flows']} | {row['buffer']} | {100 * float(row['utilisation']):.1f} |"


def _one_flow(path: Path) -> Iterator[str]:
    for row in rows(path):
        if row["link"] == "hifi" and row["flows"] == "1":
            yield f"| {row['congestion_control']} | {row['buffer']} | {100 * float(row['utilisation']):.1f} |"


CLAIMS = (
    Claim("DCTCP's queue and TCP's at 100 Mb/s", "docs/hifi.md", DCTCP, _queues, EMULATED),
    Claim("A flow that is locked out", "docs/notes/hifi.md", AGAIN, _locked_out, EMULATED),
    Claim("DCTCP's queue and TCP's at 1 Gb/s", "docs/notes/hifi.md", FASTER, _medians, EMULATED),
    Claim("The same, by percentile", "docs/notes/hifi.md", FASTER, _queues, EMULATED),
    Claim("What a varying delay does to DCTCP", "docs/notes/hifi.md", JITTER, _with_jitter, EMULATED),
    Claim("The smallest buffer that keeps a link busy", "docs/notes/hifi.md", LEAST, _least, EMULATED),
    Claim("Appenzeller's cells", "docs/notes/hifi.md", POINTS, _cells, EMULATED),
    Claim("One flow and its buffer", "docs/notes/hifi.md", POINTS, _one_flow, EMULATED),
)
