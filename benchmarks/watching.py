"""What watching a sweep costs: processor time for every second of a run, of the process that tells what is under way,
and of the one that serves the page. `python -m benchmarks.watching FOLDER`.

Files grow here as bwm-ng writes them, one second at a time, without waiting for the second to pass.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from harness.run.spec import RunSpec
from harness.sweep.tail import Tail, begun
from results.live import Live, write_live
from topos.fattree import FatTree
from topos.links import sending_ports
from watch.follower import Follower

SECONDS = 60


def cpu_ms(work: Callable[[], object], times: int = 1) -> float:
    """Processor time of this process, milliseconds per call."""
    clock = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - clock) * 1e3 / times


def telling(k: int, folder: Path) -> float:
    """Milliseconds of processor for each second of a run, k ports per switch: reading what is new, writing it."""
    spec = RunSpec("ecmp", "stride:4", k=k, seconds=SECONDS, link_mbps=1.0)
    hosts = set(FatTree(k).hosts)
    ports = [port for port in sending_ports(FatTree(k)) if port not in hosts]
    now = begun(spec, "sending")
    tail = Tail(folder, now, 1000.0)
    spent = 0.0
    with (folder / "bwm-ng-0.csv").open("w") as file:
        for second in range(SECONDS + 1):
            for port in ports:
                file.write(f"{1000 + second}.1;{port};123456.00;654321.00;777777.00" + ";1234.00" * 16 + "\n")
            file.flush()

            def step() -> None:
                live = Live(written=time.time(), jobs=1, done=0, seconds_left=1.0, runs=(tail.onto(now),))
                write_live(folder, live)

            spent += cpu_ms(step)
    return spent / SECONDS


def serving(source: Path, runs: int, folder: Path) -> tuple[float, float, float]:
    """Milliseconds of processor: for the first look at ``runs`` runs, made of those in ``source``; for each question
    after it; and for the finished part anew when one more run is there."""
    found = sorted(source.rglob("run.json"))
    last = folder
    for number in range(runs + 1):
        document = json.loads(found[number % len(found)].read_bytes()) | {"trial": number + 1}
        last = folder / "pattern" / document["scheme"] / f"trial-{number + 1}"
        last.mkdir(parents=True)
        (last / "run.json").write_text(json.dumps(document))
    hidden = last.with_name(".later")
    last.rename(hidden)
    follower = Follower(folder)
    first = cpu_ms(follower.finished)
    each = cpu_ms(lambda: json.dumps(follower.now()), 50)
    hidden.rename(last)
    return first, each, cpu_ms(follower.finished)


@click.command()
@click.argument("sweep", type=click.Path(exists=True, path_type=Path))
def main(sweep: Path) -> None:
    """Print the table; SWEEP is a folder of runs (results/runs/NAME)."""
    with tempfile.TemporaryDirectory() as name:
        for k in (4, 6, 8):
            folder = Path(name) / f"k{k}"
            folder.mkdir()
            click.echo(f"telling, k = {k}: {telling(k, folder):.1f} ms of processor for each second of a run")
        for runs in (14, 140, 700):
            first, each, again = serving(sweep, runs, Path(name) / f"runs{runs}")
            click.echo(
                f"serving, {runs} runs: {first:.0f} ms for the first look, {each:.1f} ms for each second "
                f"that a page is open, {again:.0f} ms when a run has finished"
            )


if __name__ == "__main__":
    main()
