"""What HULL costs in virtual time: seconds of one core per simulated second, beside DCTCP alone, by rate.

    python -m benchmarks.hull [--rounds N] [--out FOLDER]        a minute for a round; needs no root

ECMP's runs of stride:4 (`benchmarks.virtual` says how they are measured), in turns: DCTCP alone, and with
phantom queues and pacers, which is HULL. They do not carry the same: so the table has core seconds for each gigabit
that hosts received, too. Medians over rounds; `cost.csv` has each.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from benchmarks.virtual import PER_SECOND, measure
from harness.jobs import guests
from harness.run import make_job
from record.output import make_plain_table, make_wide_console, write_csv
from record.spec import RunSpec

TCPS: dict[str, dict[str, Any]] = {"dctcp": {}, "hull": {"phantom": "0.95:2500", "pacer": "front"}}
"""By name: what runs have beside DCTCP."""
SECONDS = {10.0: 10.0, 100.0: 3.0, 1000.0: 3.0}
"""By rate, in Mb/s."""


@click.command(help=__doc__)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Each case so often, in turns.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results/runs"), show_default=True
)
def main(rounds: int, out: Path) -> None:
    """On one processor; an invalid run is an error."""
    where = guests.Guests(guests.prepare(lambda sentence: print(sentence, file=sys.stderr)), 1)
    jobs = {
        (rate, name): make_job(
            RunSpec(
                "ecmp", "stride:4", link_mbps=rate, seconds=seconds, time="virtual", congestion_control="dctcp", **more
            )
        )
        for rate, seconds in SECONDS.items()
        for name, more in TCPS.items()
    }
    took: defaultdict[tuple[float, str], list[float]] = defaultdict(list)
    received: dict[tuple[float, str], float] = {}
    with where.prepared_for([*jobs.values()] * rounds):
        for _ in range(rounds):
            for case, job in jobs.items():
                run, stages = measure(job, where)
                took[case].append(stages[PER_SECOND])
                assert run.bisection_mbps is not None
                received[case] = run.bisection_mbps
    rows = [
        {
            "mbps": rate, "tcp": name, "core_s_per_s": core_s,
            "over_dctcp": core_s / statistics.median(took[rate, "dctcp"]),
            "received_mbps": received[rate, name], "core_s_per_gbit": core_s / (received[rate, name] * 1e-3),
            "rounds": rounds, "by_round": " ".join(f"{value:.4g}" for value in each),
        }
        for (rate, name), each in took.items()
        for core_s in [statistics.median(each)]
    ]  # fmt: skip
    shown = make_plain_table("Core seconds per simulated second", *rows[0])
    for row in rows:
        shown.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
    make_wide_console().print(shown)
    print(write_csv(out / "cost.csv", rows))


if __name__ == "__main__":
    main()
