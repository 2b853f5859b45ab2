"""What max-min rates with arrivals cost: processor seconds of whole simulations, by size of the network and scheme.

    python -m benchmarks.simulator [--all] [--rounds N] [--beside simgrid|CHECKOUT]      needs no root

Each case is a process of its own, whose loops are compiled; counted is the simulation, from the flows to the last
event. ``flows`` is how many came; ``changes``: how many rates an event (a start or an end) changes, in the mean, which
is the work that cannot be avoided. --beside takes each case in turn with SimGrid (Debian's python3-simgrid), the flows
on a star of split-duplex links, or with another checkout of this project, set up as this one is; with SimGrid the
largest difference of an end is shown as well. The last line says by which power of the number of flows the time grows.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from record.output import make_plain_table, make_wide_console

PROJECT = Path(__file__).resolve().parents[1]
SIMGRID_PYTHON = "/usr/bin/python3"


class Case(NamedTuple):
    """One simulation of web search at a load of 0.6, and the processor seconds that were aimed at."""

    k: int
    seconds: float
    scheme: str
    aim: float | None = None
    interval_s: float = 5.0

    def __str__(self) -> str:
        period = f", every {self.interval_s:g} s" if self.scheme.startswith("hedera") else ""
        return f"k={self.k}, {self.seconds:g} s, {self.scheme}{period}"


QUICK = (
    Case(4, 0.5, "ecmp"),
    Case(8, 0.5, "ecmp"),
    Case(8, 3.0, "ecmp", 0.2),
    Case(16, 0.5, "ecmp", 0.5),
    Case(16, 0.5, "nonblocking", 0.4),
    Case(16, 0.5, "hedera-gff", interval_s=0.1),
    Case(16, 0.5, "hedera-sa", interval_s=0.1),
)
LONG = (
    Case(32, 0.5, "ecmp"),
    Case(16, 10.0, "ecmp", 15.0),
    Case(32, 2.0, "ecmp", 60.0),
    Case(32, 2.0, "hedera-gff", 60.0, interval_s=0.5),
)

# Both of them print what they measured as JSON. The first is run in the folder of a checkout, by its environment, and
# knows no more of it than earlier versions had; it makes a small simulation first, so that all loops are compiled.
_OURS = """
import json, resource, sys, time
import numpy as np
from simulator.config import Config
from simulator.driver import Simulation
scheme, k, seconds, interval, ends = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
columns = []
def made(k, seconds):
    return Simulation(Config(scheme, "poisson:web-search,0.6", k=k, seconds=seconds, interval_s=interval,
                             engine="maxmin", large_flows="measured"))
made(4, max(0.2, 2.5 * interval)).run()
before = time.process_time()
simulation = made(k, seconds)
result = simulation.run()
took = time.process_time() - before
net = getattr(simulation.engine, "_net", None)
ended = np.isfinite(result.end_s)
if ends == "True":
    work = simulation.work
    columns = work.src, work.dst, work.start_s, work.size_bytes, np.where(ended, result.end_s, -1.0)
events = int(np.isfinite(result.began_s).sum() + ended.sum())
print(json.dumps({"s": took, "flows": len(simulation.work), "events": events,
                  "rounds_s": sum(one.compute_s for one in result.rounds),
                  "columns": [column.tolist() for column in columns],
                  "changes": None if net is None else int(net.changes[0]),
                  "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))
"""
# CM02 shares by max-min; without these settings latencies weigh the flows, and a part of each link is taken for
# acknowledgements (docs/simulator.md).
_SIMGRID = """
import json, sys, time
from simgrid import Actor, Comm, Engine, Host, LinkInRoute, NetZone, this_actor
senders, receivers, starts, sizes, ours = json.load(sys.stdin)
until, link_mbps = float(sys.argv[1]), float(sys.argv[2])
engine = Engine(["star", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
                 "--log=root.thres:critical"])
star, up, down = NetZone.create_star_zone("star"), LinkInRoute.Direction.UP, LinkInRoute.Direction.DOWN
for host in range(max(senders + receivers) + 1):
    made = star.create_host(str(host), 1e9)
    link = star.create_split_duplex_link("l" + str(host), link_mbps * 1e6 / 8).set_latency(0)
    star.add_route(made.netpoint, None, None, None, [LinkInRoute(link, up)], False)
    star.add_route(None, made.netpoint, None, None, [LinkInRoute(link, down)], False)
star.seal()
apart = []
def flow(start, size, to, end):
    this_actor.sleep_until(start)
    Comm.sendto(this_actor.get_host(), Host.by_name(to), size)
    if end >= 0:
        apart.append(abs(Engine.clock - end))
for src, dst, start, size, end in zip(senders, receivers, starts, sizes, ours):
    Actor.create("flow", Host.by_name(str(src)), flow, start, round(size), str(dst), end)
before = time.process_time()
engine.run_until(until)
print(json.dumps({"s": time.process_time() - before, "apart_s": max(apart), "ended": len(apart)}))
"""


@click.command(help=__doc__)
@click.option("--all", "whole", is_flag=True, help="The cases that take minutes as well.")
@click.option(
    "--rounds", type=click.IntRange(1), default=1, help="Each case so often, in turns: the table has medians."
)
@click.option("--beside", metavar="simgrid|CHECKOUT", help="Measure SimGrid or another checkout as well.")
def main(whole: bool, rounds: int, beside: str | None) -> None:
    """Medians of processor seconds."""
    if beside not in (None, "simgrid") and not Path(str(beside), ".venv/bin/python").exists():
        raise click.UsageError(f"{beside} is no checkout that is set up: it has no .venv/bin/python")
    ours: defaultdict[Case, list[dict[str, Any]]] = defaultdict(list)
    theirs: defaultdict[Case, list[dict[str, Any]]] = defaultdict(list)
    for _ in range(rounds):
        for case in (*QUICK, *(LONG if whole else ())):
            print(case, file=sys.stderr)
            to_simgrid = beside == "simgrid" and case.scheme == "nonblocking"
            ours[case].append(measure(PROJECT, case, to_simgrid))
            if to_simgrid:
                theirs[case].append(run_in_simgrid(ours[case][-1].pop("columns"), case))
            elif beside not in (None, "simgrid") and case in QUICK:
                theirs[case].append(measure(Path(str(beside)), case))
    columns = ("peer", "ratio", *(("apart, s",) if beside == "simgrid" else ())) if beside else ()
    table = make_plain_table("Processor seconds", "case", "flows", "changes", "rounds", "GB", "aim", "ours", *columns)
    for case, each in ours.items():
        seconds, last = statistics.median(run["s"] for run in each), each[-1]
        row = [str(case), f"{last['flows']:,}", f"{last['changes'] / last['events']:.1f}", f"{last['rounds_s']:.2g}"]
        row += [f"{last['gb']:.2f}", f"{case.aim or ''}", f"{seconds:.3g}"]
        if theirs[case]:
            peer = statistics.median(run["s"] for run in theirs[case])
            row += [f"{peer:.3g}", f"{seconds / peer:.3g}"]
            row += [f"{run['apart_s']:.1g}" for run in theirs[case][-1:] if "apart_s" in run]
        table.add_row(*row, *[""] * (len(table.columns) - len(row)))
    make_wide_console().print(table)
    print(describe_growth({case: each[-1]["flows"] for case, each in ours.items()}, ours))


def describe_growth(flows: dict[Case, int], ours: dict[Case, list[dict[str, Any]]]) -> str:
    """By which power of the flows the time grows, over networks that have the same seconds of traffic."""
    alike = [case for case in ours if case.scheme == "ecmp" and case.seconds == 0.5]
    sizes = [math.log(flows[case]) for case in alike]
    times = [math.log(statistics.median(run["s"] for run in ours[case])) for case in alike]
    power = float(np.polyfit(sizes, times, 1)[0])
    return f"k = {alike[0].k} to {alike[-1].k}, 0.5 s, ecmp: the time grows as the number of flows to the {power:.2f}"


def measure(checkout: Path, case: Case, columns: bool = False) -> dict[str, Any]:
    """What one simulation took, by the environment of a checkout; with ``columns`` its flows and their ends as well."""
    words = (case.scheme, case.k, case.seconds, case.interval_s, columns)
    return run_program([str(checkout / ".venv/bin/python"), "-c", _OURS, *map(str, words)], checkout)


def run_in_simgrid(columns: list[list[float]], case: Case) -> dict[str, Any]:
    """What SimGrid takes for the same flows, and by how many seconds its ends differ at most."""
    return run_program([SIMGRID_PYTHON, "-c", _SIMGRID, str(case.seconds), "1000"], PROJECT, json.dumps(columns))


def run_program(command: list[str], folder: Path, said: str = "") -> dict[str, Any]:
    """The JSON object that a program prints as its last line; ``said``: what it reads."""
    ran = subprocess.run(command, cwd=folder, input=said, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise click.ClickException(f"{command[0]} ended with status {ran.returncode}")
    values: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return values


if __name__ == "__main__":
    main()
