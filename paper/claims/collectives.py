"""Claims on collectives: what one planned path, several and all paths lose to the non-blocking network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

from paper.claims.claim import EMULATED, Claim, Rows, Source, interval_told, rows
from paper.collective_table import BUFFERS, FAILING, HEDERA, STATIC

SAID = "docs/collectives.md"
NOTES = "docs/notes/collectives.md"
DATA = Source(
    "collectives/collectives.csv",
    "hedera collective table",
    "three minutes of a processor",
    again=True,
)
BESIDE = Source(
    "collectives/beside.csv",
    "hedera collective beside results/runs/collectives/*/*/trial-*",
    "50 runs of half a minute of a processor each",
)
SPLIT = ("ecmp", "ecmp-x2", "ecmp-x4", "ecmp-x8", "ecmp-x16")
_Cells = Iterator[str]


def _of(table: Rows, column: str = "over_control", **case: str) -> list[float]:
    """The numbers of a column in the rows of a case, one for each seed."""
    return [float(row[column]) for row in table if all(row[name] == cell for name, cell in case.items())]


def _line(head: str, cells: _Cells) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def _times(table: Rows, schemes: Sequence[str], **case: str) -> _Cells:
    for scheme in schemes:
        yield interval_told(_of(table, scheme=scheme, **case), ".2f")


def _one_path(path: Path) -> Iterator[str]:
    """All schemes, buffers of 1 GB, by placement."""
    table = rows(path)
    for collective in BUFFERS:
        for placement in ("compact", "random"):
            case = {"part": "size", "collective": collective, "mbytes": "1000", "placement": placement}
            yield _line(f"{collective}, {placement}", _times(table, (*STATIC, *HEDERA), **case))


def _one_path_at_random(path: Path) -> Iterator[str]:
    """The same, on hosts drawn at random."""
    yield from (line for line in _one_path(path) if ", random |" in line)


def _too_short(path: Path) -> Iterator[str]:
    """Where a period of 5 s changes nothing: all sizes but the largest, and how many runs of these differ."""
    table = rows(path)
    found = {
        size: [
            abs(ours - theirs) > 1e-6 * theirs
            for collective in BUFFERS
            for placement in ("compact", "random")
            for scheme in HEDERA
            for case in [{"part": "size", "collective": collective, "mbytes": size, "placement": placement}]
            for ours, theirs in zip(_of(table, scheme=scheme, **case), _of(table, scheme="ecmp", **case), strict=True)
        ]
        for size in ("1", "100", "1000")
    }
    for size, differ in found.items():
        yield f"{sum(differ)} of {len(differ)} runs with {size} MB"


def _failed(path: Path) -> Iterator[str]:
    table = rows(path)
    for collective in BUFFERS:
        for failed in ("core", "edge"):
            case = {"part": "failure", "collective": collective, "failed": failed}
            yield _line(f"{collective}, {failed}", _times(table, FAILING, **case))


def _mice(path: Path) -> Iterator[str]:
    table = rows(path)
    for collective in BUFFERS:
        yield _line(collective, _times(table, (*STATIC, *HEDERA), part="mice", collective=collective))


def _split(path: Path) -> Iterator[str]:
    table = rows(path)
    for collective in BUFFERS:
        yield _line(f"{collective}, k = 4", _times(table, SPLIT, part="sub-flows", collective=collective))


def _period(path: Path) -> Iterator[str]:
    """By collective and period: Hedera's; and what needs none."""
    table = rows(path)
    for collective in ("ring", "halving-doubling"):
        case = {"part": "period", "collective": collective}
        for period in ("5", "1", "0.1", "0.01"):
            yield _line(f"{collective}, {period} s", _times(table, HEDERA, interval_s=period, **case))
        for scheme in ("ecmp", "planned"):
            told = interval_told(_of(table, scheme=scheme, **case), ".2f")
            yield f"{collective}: {told} under `{scheme}`"


def _period_in_short(path: Path) -> Iterator[str]:
    """Without Hedera, and with its longest and its shortest period, of both collectives."""
    table = rows(path)
    for told, case in (
        ("ECMP takes", {"scheme": "ecmp"}),
        ("Simulated Annealing every 5 s", {"scheme": "hedera-sa", "interval_s": "5"}),
        ("every 0.01 s", {"scheme": "hedera-sa", "interval_s": "0.01"}),
        ("Global First Fit every 0.01 s", {"scheme": "hedera-gff", "interval_s": "0.01"}),
    ):
        ring, halving = (
            interval_told(_of(table, part="period", collective=collective, **case), ".2f")
            for collective in ("ring", "halving-doubling")
        )
        yield f"{told} {ring} and {halving}"


def _degree(path: Path) -> Iterator[str]:
    """The share of time with more flows than NICs, per cent, and what planning then loses."""
    table = rows(path)
    for collective in BUFFERS:
        cells = []
        for part, case in (
            ("size", {"mbytes": "1000", "placement": "random"}),
            ("failure", {"failed": "core"}),
            ("mice", {}),
        ):
            here = {"part": part, "collective": collective, "scheme": "planned", **case}
            cells += [
                interval_told([100 * one for one in _of(table, "crowded", **here)]),
                interval_told(_of(table, **here), ".2f"),
            ]
        yield _line(collective, iter(cells))


_RATIOS = ("ratio", "median_flow")
"""Of a collective's completion and of its median flow's time, emulated over simulated."""


def _bars(table: Rows) -> list[dict[str, str]]:
    return [
        {"traffic": traffic, "scheme": scheme}
        for traffic in dict.fromkeys(row["traffic"] for row in table)
        for scheme in dict.fromkeys(row["scheme"] for row in table)
    ]


def _beside(path: Path) -> Iterator[str]:
    """By collective and scheme."""
    table = rows(path)
    for bar in _bars(table):
        cells = (interval_told(_of(table, name, **bar), ".3f") for name in _RATIOS)
        yield _line(f"`{bar['traffic']}`, `{bar['scheme']}`", cells)


def _beside_in_short(path: Path) -> Iterator[str]:
    """The least and the most of the means of the bars."""
    table = rows(path)
    whole, flow = ([mean(_of(table, name, **bar)) for bar in _bars(table)] for name in _RATIOS)
    yield (
        f"the median flow takes {min(flow):.2f} to {max(flow):.2f} of its simulated time, a whole collective "
        f"{min(whole):.2f} to {max(whole):.2f}"
    )


CLAIMS = (
    Claim("Emulated collectives beside simulated ones, in short", SAID, BESIDE, _beside_in_short, EMULATED),
    Claim("Emulated collectives beside simulated ones", NOTES, BESIDE, _beside, EMULATED),
    Claim("Collectives of 1 GB over the non-blocking network", SAID, DATA, _one_path_at_random),
    Claim("The same, by placement", NOTES, DATA, _one_path),
    Claim("Runs that a period of 5 s changes", SAID, DATA, _too_short),
    Claim("Collectives with a failed link", NOTES, DATA, _failed),
    Claim("Collectives with mice beside", NOTES, DATA, _mice),
    Claim("Collectives in sub-flows", NOTES, DATA, _split),
    Claim("Which period steps of 10 ms need, in short", SAID, DATA, _period_in_short),
    Claim("Which period steps of 10 ms need", NOTES, DATA, _period),
    Claim("How often a host has more flows than NICs", NOTES, DATA, _degree),
)
