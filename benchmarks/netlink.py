"""What it takes to read the counters of a network's ports: ours, pyroute2's, and tc's, in processor seconds.

    python -m benchmarks.netlink [--pairs N] [--rounds N]      needs no root, but user namespaces; fetches pyroute2

In a network namespace of its own, with a token bucket and a queue on each port, as harness.network.shaping has them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import click

from harness.network.netlink import Netlink, call_inside, hold_namespace
from record.output import make_plain_table, make_wide_console

PEER = "pyroute2==0.9.7"
READINGS = 100
INSIDE = "HEDERA_BENCHMARK_PEER"


def lay(pairs: int) -> list[str]:
    """Make so many cables; the names of their ports."""
    ports = [f"p{number}-{end}" for number in range(pairs) for end in "ab"]
    for number in range(pairs):
        subprocess.run(f"ip link add p{number}-a type veth peer name p{number}-b".split(), check=True)
    lines = [
        f"qdisc replace dev {port} root handle 1: tbf rate 10mbit burst 15k limit 75k\n"
        f"qdisc replace dev {port} parent 1:1 handle 10: bfifo limit 75000\n"
        for port in ports
    ]
    subprocess.run(["tc", "-batch", "-"], input="".join(lines), text=True, check=True)
    return ports


def measure_spent_s(read: Callable[[], int]) -> float:
    """Processor seconds of a reading, in this process and in children that have ended: the mean of READINGS."""
    before = os.times()
    for _ in range(READINGS):
        read()
    after = os.times()
    return (sum(after[:4]) - sum(before[:4])) / READINGS


def measure(pairs: int, rounds: int) -> None:
    pyroute2 = importlib.import_module("pyroute2")  # in the folder that `main` has made
    namespace = hold_namespace()
    ports = call_inside(namespace, lambda: lay(pairs))
    tc = ["tc", "-s", "-j", "qdisc", "show"]
    place = f"/proc/{os.getpid()}/task/{namespace}/ns/net"
    with contextlib.closing(Netlink(namespace)) as kernel, pyroute2.IPRoute(netns=place) as theirs:
        ways: dict[str, Callable[[], int]] = {
            "ours": lambda: len(kernel.qdiscs()),
            PEER: lambda: len([*theirs.get_qdiscs()]),
            "tc -s -j": lambda: call_inside(namespace, lambda: subprocess.check_output(tc).count(b'"kind"')),
        }
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for name, read in ways.items():
            if (count := read()) < 2 * len(ports):
                sys.exit(f"{name} reads {count} queues of {len(ports)} ports, which have two each")
        for _ in range(rounds):
            for name, read in ways.items():
                spent[name].append(measure_spent_s(read))
    table = make_plain_table(f"Queues of {len(ports)} ports, read once", "case", "processor ms", "ours / it")
    ours_s = statistics.median(spent["ours"])
    for name, values in spent.items():
        median = statistics.median(values)
        table.add_row(name, f"{1e3 * median:.2f}", f"{ours_s / median:.2f}")
    make_wide_console().print(table)


@click.command()
@click.option("--pairs", default=48, show_default=True, type=click.IntRange(1), help="Cables (k=4 has 48).")
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1), help="The median is of so many.")
def main(pairs: int, rounds: int) -> None:
    """Measure, and print a table."""
    if INSIDE in os.environ:
        sys.path.append(os.environ[INSIDE])
        measure(pairs, rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "-q", "install", "--target", folder, PEER], check=True)
        apart = ["unshare", "--user", "--map-root-user", "--net"]
        command = [*apart, sys.executable, "-m", "benchmarks.netlink", f"--pairs={pairs}", f"--rounds={rounds}"]
        sys.exit(subprocess.run(command, env=os.environ | {INSIDE: folder}, check=False).returncode)


if __name__ == "__main__":
    main()
