"""What senders and sinks (transfers/) can do: flows per second on this machine, and how true a lone flow's time is.

python -m benchmarks.transfers [--rates 500,1000,2000,4000]      on loopback, no root
sudo .venv/bin/python -m benchmarks.transfers --lone [--bw 10]   one flow after another on an idle emulated network
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

from benchmarks.children import processor_s
from results.output import plain_table, wide_console
from topos.wire import payload_share
from transfers import records

PROGRAMS = Path(records.__file__).parent
BYTES = 1000
PORTS = range(20_000, 60_000)


@click.command(help=__doc__)
@click.option("--rates", default="500,1000,2000,4000", show_default=True, help="Flows of 1000 bytes a second.")
@click.option("--seconds", default=5.0, show_default=True)
@click.option("--lone", is_flag=True, help="The completion time of a lone flow, emulated.")
@click.option("--bw", default=10.0, show_default=True)
def main(rates: str, seconds: float, lone: bool, bw: float) -> None:
    """Measure, and print a table."""

    if lone:
        _lone_flows(bw)
        return
    names = ("asked/s", "done", "late median ms", "late p99 ms", "took median ms", "processor us/flow")
    table = plain_table(f"Flows of {BYTES} bytes on loopback, {os.cpu_count()} processors", *names)
    for rate in map(float, rates.split(",")):
        table.add_row(f"{rate:g}", *_on_loopback(rate, seconds))
    wide_console().print(table)


def _on_loopback(rate: float, seconds: float) -> list[str]:
    """A row: one sender and one sink on one machine, side by side."""
    count = round(rate * seconds)
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
        probe.close()
        outputs = [Path(folder) / name for name in ("sink", "sender")]
        with outputs[0].open("wb") as sunk, outputs[1].open("wb") as said:
            start = [sys.executable, "-I", "-S"]
            sink = subprocess.Popen([*start, str(PROGRAMS / "sink.py"), "127.0.0.1", port, "1000"], stdout=sunk)
            time.sleep(0.5)
            before = processor_s()
            sender = subprocess.Popen(
                [*start, str(PROGRAMS / "sender.py"), "127.0.0.2", port, "1"],
                stdin=subprocess.PIPE,
                stdout=said,
            )
            begin = time.monotonic() + 0.5
            lines = [f"{begin} {begin + seconds + 30}"]
            lines += [f"{n} {n / rate} 127.0.0.1 {PORTS[n % len(PORTS)]} {BYTES} -" for n in range(count)]
            sender.communicate("".join(f"{line}\n" for line in lines).encode())
            sink.send_signal(signal.SIGTERM)
            sink.wait()
        used = processor_s() - before
        sent = records.sent_by(outputs[1])
    done = [one for one in sent if one.how == "done" and one.start is not None]
    late = np.array([(one.start or 0.0) - one.asked for one in done]) * 1e3
    took = np.array([one.end - (one.start or 0.0) for one in done]) * 1e3
    return [
        f"{len(done)} of {count}",
        *(f"{value:.2f}" for value in np.percentile(late, [50, 99])),
        f"{np.median(took):.2f}",
        f"{used / count * 1e6:.0f}",
    ]


def _lone_flows(bw: float) -> None:
    from rich.table import Table

    from harness.run.experiment import run_experiment
    from harness.run.spec import RunSpec

    sizes = [round(bw * 125_000 * share) for share in (0.01, 0.1, 0.5, 1, 2)]
    starts = np.cumsum([1.0, 1.0, 1.5, 2.0, 2.5])
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "lone.csv"
        rows = [f"0,15,{start},{size}" for start, size in zip(starts, sizes, strict=True)]
        listed.write_text("\n".join(["src_host,dst_host,start_s,size_bytes", *rows]) + "\n")
        spec = RunSpec("ecmp", f"file:{listed}", seconds=float(starts[-1]) + 4, link_mbps=bw)
        run = run_experiment(spec, Path(folder) / "run")
    table = Table("bytes", "took s", "bytes/rate s", "more by ms", "late ms", title="Alone", box=None)
    for one in run.flows:
        if one.size_bytes is None or one.completion_s is None or one.late_s is None:
            continue  # it did not complete, as the verdict says
        least, took = one.size_bytes * 8e-6 / payload_share() / bw, one.completion_s
        more_ms, late_ms = (took - least) * 1e3, one.late_s * 1e3
        table.add_row(f"{one.size_bytes}", f"{took:.4f}", f"{least:.4f}", f"{more_ms:.1f}", f"{late_ms:.2f}")
    wide_console().print(table, f"{run.verdict} {' '.join(run.reasons)}")


if __name__ == "__main__":
    main()
