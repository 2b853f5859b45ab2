"""Shares of the control in a window that you choose, two sweeps beside each other: whether what differs lasts.

    python -m studies.settled_shares FROM TO FOLDER OTHER [FOLDER OTHER ...] > steady.csv

From second FROM to TO after the traffic began, by the rates that each run.json has of every second. For each pair of
folders and scheme a row of all patterns that both have, one of those in which no host sends or receives more than one
flow, if there are others, too, and one of each pattern: mean shares in %, and the second's minus the first's in points
with a 95 % interval: over seeds, each the mean of its patterns; with fewer than three seeds, over patterns. Runs that
are not valid, or have no control, are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hedera.schemes import CONTROL
from plots import load_sweep
from plots.published import find_bijective
from plots.summary import FEWEST
from record.output import format_csv
from record.run import Run, mean_over
from studies.study import estimate_over_seeds

Window = tuple[float, float]
Key = tuple[str, str, int]
"""A pattern, a scheme and a trial."""
ALL = "all"
"""In the place of a pattern: all that both folders have."""
BIJECTIVE = "bijective"
"""Those of them in which no host sends or receives more than one flow: a control carries their links full."""


def compute_shares(runs: Sequence[Run], window: Window) -> dict[Key, float]:
    """Each valid run's share of its control in the window, in %."""
    rates = {(run.pattern, run.scheme, run.trial): _rate(run, window) for run in runs if run.valid}
    controls = {(pattern, trial): rate for (pattern, scheme, trial), rate in rates.items() if scheme == CONTROL}
    return {
        (pattern, scheme, trial): 100 * rate / controls[pattern, trial]
        for (pattern, scheme, trial), rate in rates.items()
        if scheme != CONTROL and (pattern, trial) in controls
    }


def _rate(run: Run, window: Window) -> float:
    return mean_over(np.array(run.rates.t), np.array(run.rates.total_mbps), window)


def compare_shares(first: Path, second: Path, window: Window) -> Iterator[dict[str, object]]:
    first_runs, second_runs = load_sweep(first).runs, load_sweep(second).runs
    first_shares, second_shares = compute_shares(first_runs, window), compute_shares(second_runs, window)
    keys_of_both = sorted(first_shares.keys() & second_shares.keys())
    bijective_of_both = find_bijective([*first_runs, *second_runs], [pattern for pattern, _, _ in keys_of_both])
    for scheme in dict.fromkeys(scheme for _, scheme, _ in keys_of_both):
        keys_of_scheme = [key for key in keys_of_both if key[1] == scheme]
        each = list(dict.fromkeys(pattern for pattern, _, _ in keys_of_scheme))
        bijective = [pattern for pattern in each if pattern in bijective_of_both]
        several = {ALL: each} | ({BIJECTIVE: bijective} if 0 < len(bijective) < len(each) else {})
        for pattern, members in (several | {pattern: [pattern] for pattern in each}).items():
            keys = [key for key in keys_of_scheme if key[0] in members]
            trials, patterns = ({key[place] for key in keys} for place in (2, 0))
            # Seeds are the unit of repetition. With one or two there is no interval over them, and the patterns stand
            # in: they tell how even a difference is, not how certain.
            place, groups = (2, trials) if len(trials) >= FEWEST else (0, patterns)
            difference = estimate_over_seeds(
                np.mean([second_shares[key] - first_shares[key] for key in keys if key[place] == group])
                for group in groups
            )
            yield {
                "folder": _name_sweep(first), "other": _name_sweep(second),
                "from_s": f"{window[0]:g}", "to_s": f"{window[1]:g}", "pattern": pattern,
                "scheme": scheme, "patterns": len(patterns), "seeds": len(trials),
                "share": f"{np.mean([first_shares[key] for key in keys]):.3f}",
                "other_share": f"{np.mean([second_shares[key] for key in keys]):.3f}",
                "difference_points": _format_number(difference.mean),
                "low_points": _format_number(difference.low), "high_points": _format_number(difference.high),
            }  # fmt: skip


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _name_sweep(folder: Path) -> str:
    return folder.resolve().name


def main(arguments: Sequence[str]) -> None:
    begin, end, *folders = arguments
    pairs = zip(map(Path, folders[::2]), map(Path, folders[1::2]), strict=True)
    rows = [row for first, second in pairs for row in compare_shares(first, second, (float(begin), float(end)))]
    sys.stdout.write(format_csv(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
