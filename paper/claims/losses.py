"""Claims on what loss does to each scheme: shallow queues and a TCP of the testbed's years, at its own rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from paper.claims.claim import EMULATED, Claim, Source, interval_told
from plots.sample import Sample
from plots.shares import published_share
from plots.style import scheme_order
from plots.summary import Bar, summarise
from results.record import Run

PATTERNS = tuple(
    f"published:{name}" for name in ("stride4", "rand0", "stag0(0.2,0.3)", "randbij0")
)  # one of each family
ECMP = Source(
    "ecmp",
    "./test.sh 1 4 --time virtual --bw 1000 ...: results/ecmp/README.md",
    "2 minutes of a processor a run",
)
EVERY = Source(
    "losses",
    "./test.sh 1 4 --time virtual --bw 1000 --interval 1 ...: results/losses/README.md",
    "2 minutes of a processor a run",
)


def _of_ecmp(folder: Path) -> Iterator[str]:
    """ECMP's shares of the control, of which there is one try each: with long queues, with short ones; published."""
    measured = []
    for sweep in _sweeps(folder):
        bars = sweep.every()
        measured.append([bars[pattern, "ecmp"].median or 0.0 for pattern in PATTERNS])
    published = [published_share(pattern, "ecmp") or 0.0 for pattern in PATTERNS]
    long, short, known = map(_listed, (*measured, published))
    yield f"ECMP falls from {long} of the control to {short}; published are {known}"


def _listed(shares: Sequence[float]) -> str:
    *most, last = (f"{100 * share:.0f}" for share in shares)
    return f"{', '.join(most)} and {last} %"


def _of_every_scheme(folder: Path) -> Iterator[str]:
    """By setting and scheme: shares of the control pattern by pattern, and timeouts a second."""
    for sweep in _sweeps(folder):
        runs = sweep.tries
        trials = [summarise([run for run in sweep.runs if run.trial == trial]).bars for trial in _trials(runs)]
        patterns = [pattern for pattern in PATTERNS if (pattern, "ecmp") in trials[0]]
        for scheme in scheme_order({run.scheme for run in runs}):
            seeds = [[bars[pattern, scheme] for bars in trials if (pattern, scheme) in bars] for pattern in patterns]
            cells = " | ".join(map(_share, seeds))
            counts = "/".join(f"{len(bars)}" for bars in seeds) if len(trials) > 1 else "1"
            yield f"| {_setting(runs)} | {scheme} | {cells} | {counts} | {_timeouts(runs, scheme):.0f} |"


def _trials(runs: Sequence[Run]) -> list[int]:
    return sorted({run.trial for run in runs})


def _share(bars: Sequence[Bar]) -> str:
    """Of the control, trial by trial: the mean with its interval; of one trial the last third of the run."""
    shares = [100 * bar.ratio.median for bar in bars if bar.ratio is not None]
    if len(shares) > 1:
        return interval_told(shares)
    (late,) = (bar.late for bar in bars)
    return f"{shares[0]:.0f} ({100 * late.median:.0f})" if shares and late else ""


def _sweeps(folder: Path) -> list[Sample]:
    return [Sample.read(path, path.name) for path in sorted(folder.iterdir()) if path.is_dir()]


def _setting(runs: Sequence[Run]) -> str:
    spec = runs[0].spec
    return f"{spec.queue} | {'yes' if spec.sack else 'no'} | {spec.congestion_control}"


def _timeouts(runs: Sequence[Run], scheme: str) -> float:
    """Per second."""
    ours = [run for run in runs if run.scheme == scheme]
    return sum(run.costs["timeouts"] for run in ours) / sum(run.spec.seconds for run in ours)


CLAIMS = (
    Claim("What loss leaves of ECMP at 1 Gb/s, of the control", "docs/ecmp.md", ECMP, _of_ecmp, EMULATED),
    Claim("What loss leaves of every scheme at 1 Gb/s", "docs/notes/ecmp.md", EVERY, _of_every_scheme, EMULATED),
)
