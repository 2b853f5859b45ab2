"""What virtual time costs: seconds of one core per simulated second of traffic, by rate, packet, k and scheme.

    python -m benchmarks.virtual [--quick] [CASE ...]      needs no root; about an hour for all, five minutes --quick

Processor time, of the guest's kernel and all its processes, so that a busy machine changes little. Beside it what the
prototype took on two cores of the same kind, and what is aimed at. For 1 Gb/s in 1500 bytes, others' simulators: this
project's on ns-3 24.6, csg-htsim 3.5, both without a kernel's TCP. Real time takes 1 s per second, and two cores
carry 35 Mb/s in it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich.table import Table

from harness.run.resolution import resolve
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.guest_meter import Meter
from harness.sweep.guests import Ground
from results.output import wide_console
from results.record import Run
from results.temporary import temporary_folder


@dataclass(frozen=True)
class Case:
    """One run. ``prototype``, ``target``: core seconds per simulated second, None where nothing was measured or set;
    ``build_target``: core seconds until traffic can flow."""

    link_mbps: float
    mtu: int
    scheme: str
    prototype: float | None
    target: float | None
    k: int = 4
    seconds: float = 10.0
    quick: bool = False
    traffic: str = "stride:4"
    build_target: float = 3.0

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return f"k{self.k}-{self.link_mbps:g}-{self.mtu}-{self.scheme}"


CASES = (
    Case(10, 1500, "nonblocking", 0.6, 0.4),
    Case(10, 1500, "ecmp", 0.55, 0.4, quick=True),
    Case(10, 1500, "hedera-gff", 1.0, 0.4),
    Case(10, 1500, "hedera-sa", 0.9, 0.4, quick=True),
    Case(100, 1500, "ecmp", 4.5, 2.5, quick=True),
    Case(100, 9000, "ecmp", 1.0, None, quick=True),
    Case(1000, 9000, "ecmp", 8.0, None),
    Case(1000, 9000, "hedera-sa", 13.0, None),
    Case(1000, 1500, "ecmp", 31.0, 15.0, seconds=4.0),
    Case(10, 1500, "hedera-sa", 10.0, 5.0, k=8, seconds=5.0, build_target=20.0, traffic="randbij"),
)


def measure(case: Case, ground: Ground, folder: Path) -> tuple[Meter, Run]:
    """One run, on one processor."""
    spec = resolve(
        RunSpec(
            case.scheme,
            case.traffic,
            k=case.k,
            link_mbps=float(case.link_mbps),
            mtu=case.mtu,
            seconds=case.seconds,
            time="virtual",
            interval_s=1.0 if case.seconds < 10 else 2.0,
        )
    )
    meter = Meter()
    return meter, guests.run_in_guest(spec, folder, ground, meter)


COLUMNS = (
    "k, Mb/s, bytes, scheme, prototype, target, core s/s, to prototype, to target, ready core s, target, finishing, "
    "of capacity, verdict"
)


def row(case: Case, meter: Meter, run: Run) -> list[str]:
    """A case's line of the table."""
    ours = meter.core_s.get("sending", 0.0) / max(meter.simulated_s.get("sending", 0.0), 1e-9)
    ready = sum(meter.core_s.get(stage, 0.0) for stage in ("starting", "building"))
    share = f"{run.bisection_mbps / run.capacity_mbps:.0%}" if run.bisection_mbps is not None else "none"
    asked = [str(case.k), f"{case.link_mbps:g}", str(case.mtu), case.scheme]
    sending = [f"{ours:.2f}", ratio(ours, case.prototype), ratio(ours, case.target)]
    building = [f"{ready:.1f}", f"{case.build_target:g}", f"{meter.core_s.get('finishing', 0.0):.1f}"]
    return [*asked, told(case.prototype), told(case.target), *sending, *building, share, run.verdict]


def told(value: float | None) -> str:
    """A number of the table, if there is one."""
    return "" if value is None else f"{value:g}"


def ratio(ours: float, other: float | None) -> str:
    """How many times the other ours is, where there is one."""
    return "" if other is None else f"{ours / other:.2f}"


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[CASE ...]")
@click.option("--quick", is_flag=True, help="A few cases.")
def main(names: tuple[str, ...], quick: bool) -> None:
    """Measure, and print the table."""
    known = {case.name: case for case in CASES}
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(f"no case {unknown[0]}: {', '.join(known)}")
    cases = [known[name] for name in names] or [case for case in CASES if case.quick or not quick]
    ground = guests.prepare(lambda sentence: print(sentence, file=sys.stderr))
    title = f"Virtual time, Linux {ground.kernel.release} ({ground.kernel.mode})"
    table = Table(*COLUMNS.split(", "), title=title, box=None)
    with temporary_folder("virtual") as folder:
        for case in cases:
            print(f"{case.name} ...", file=sys.stderr)
            meter, run = measure(case, ground, folder / case.name)
            table.add_row(*row(case, meter, run))
            for reason in run.reasons:
                print(f"{case.name}: {reason}", file=sys.stderr)
    wide_console().print(table)


if __name__ == "__main__":
    main()
