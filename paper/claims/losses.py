"""Claims on what loss does to ECMP: shallow queues and a TCP of the testbed's years, at its own rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hedera.schemes import CONTROL
from paper.claims.claim import EMULATED, Claim, Source
from plots.sample import Sample
from plots.shares import published_share
from results.record import Run

PATTERNS = tuple(
    f"published:{name}" for name in ("stride4", "rand0", "stag0(0.2,0.3)", "randbij0")
)  # one of each family
LOSSES = Source(
    "ecmp",
    "./test.sh 1 4 --time virtual --bw 1000 ...: results/ecmp/README.md",
    "2 minutes of a processor a run",
)


def _shares(folder: Path) -> Iterator[str]:
    """By setting: ECMP's shares of the control, of which there is one try each, and its timeouts."""
    published = [published_share(pattern, "ecmp") or 0.0 for pattern in PATTERNS]
    yield f"| published | | | {' | '.join(f'{share:.0%}' for share in published)} | |".replace("%", " %")
    for sweep in sorted(path for path in folder.iterdir() if path.is_dir()):
        sample = Sample.read(sweep, sweep.name)
        runs, shares = sample.tries, sample.every()
        spec = runs[0].spec
        cells = [f"{100 * (shares[pattern, 'ecmp'].median or 0):.0f} %" for pattern in PATTERNS]
        timeouts = " / ".join(f"{_timeouts(runs, scheme):.0f}" for scheme in ("ecmp", CONTROL))
        sack = "yes" if spec.sack else "no"
        yield f"| {spec.queue} | {sack} | {spec.congestion_control} | {' | '.join(cells)} | {timeouts} |"


def _timeouts(runs: Sequence[Run], scheme: str) -> float:
    """Per second."""
    ours = [run for run in runs if run.scheme == scheme]
    return sum(run.costs["timeouts"] for run in ours) / sum(run.spec.seconds for run in ours)


CLAIMS = (
    Claim(
        "What loss leaves of ECMP at 1 Gb/s, of the control", "docs/deviations.md", LOSSES, _shares, EMULATED
    ),
)
