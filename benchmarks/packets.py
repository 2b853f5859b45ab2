"""How fast the packet simulator is, by scheme: simulated seconds per second of one core; and what the build gives.

    python benchmarks/packets.py [--seconds N] [--builds]

Processor time, not the clock's: neighbours on the machine count little. ``--builds`` compiles the engine anew with
and without tcmalloc, with -O2 and -O3, and says what each is worth; that takes a minute or two more.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from results.output import plain_table

# Run as a file, this one would be the module `packets`, as its folder comes first on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.children import processor_s
from packets.build import SOURCES, engine
from packets.experiment import Experiment, scenario
from packets.result import parse
from packets.schemes import SCHEMES

REPEATS = 3
BUILDS: dict[str, tuple[str, ...]] = {
    "-O2, tcmalloc (as built)": (),
    "-O2, malloc of the C library": ("MALLOC=",),
    "-O3, tcmalloc": ("CXXFLAGS=-O3",),
}


@dataclass(frozen=True)
class Load:
    """Something to simulate: its name and the scenario's file."""

    name: str
    scenario: Path

    @property
    def result(self) -> Path:
        """Where the engine writes."""
        return self.scenario.with_suffix(".result")

    def simulated_s(self) -> float:
        """How long the last run went on, with what comes before the measured time and after it."""
        return float(parse(self.result.read_bytes())[0]["simulated_s"])


def core_s(program: Path, load: Load) -> float:
    """Processor seconds of one run, the least of a few."""
    spent = []
    for _ in range(REPEATS):
        before = processor_s()
        subprocess.run([program, load.scenario, load.result], stderr=subprocess.DEVNULL, check=True)
        spent.append(processor_s() - before)
    return min(spent)


def loads(folder: Path, seconds: float) -> list[Load]:
    """Every scheme with 8 endless flows, and with dynamic traffic at 60 %."""
    made: list[Load] = []
    for scheme in SCHEMES:
        for name, experiment in (
            ("8 endless flows", Experiment(scheme, "static", flows=8, seconds=seconds)),
            ("dynamic, 60 %", Experiment(scheme, "dynamic", load=0.6, seconds=seconds)),
        ):
            path = folder / f"{len(made)}.json"
            path.write_text(json.dumps(scenario(experiment, experiment.traffic())), encoding="utf-8")
            made.append(Load(f"{scheme}, {name}", path))
    return made


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--seconds", default=2.0, show_default=True, help="Measured time of every run.")
@click.option("--builds", is_flag=True, help="Compare ways to build the engine, too.")
def main(seconds: float, builds: bool) -> None:
    """Measure and print."""
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        measured = loads(Path(folder), seconds)
        columns = ("load", "simulated s per s and core", "core s per simulated s")
        table = plain_table("ns-3's TCP on our network", *columns)
        for load in measured:
            each_s = core_s(engine(), load) / load.simulated_s()
            table.add_row(load.name, f"{1 / each_s:.2f}", f"{each_s:.2f}")
        console.print(table)
        if builds:
            chosen = [load for load in measured if "dynamic" in load.name]
            table = plain_table("core seconds by build", "build", *(load.name for load in chosen))
            for name, settings in BUILDS.items():
                place = Path(folder) / f"build-{len(table.rows)}"
                subprocess.run(["make", "--silent", "-C", SOURCES, f"OUT={place}", *settings, "engine"], check=True)
                table.add_row(name, *(f"{core_s(place / 'engine', load):.2f}" for load in chosen))
            console.print(table)


if __name__ == "__main__":
    main()
