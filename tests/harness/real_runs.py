"""What the tests of real runs share: the command, and everything a run could leave on the machine."""

import json
import subprocess
import sys
from pathlib import Path

from harness.network.footprint import HOME, MARK
from harness.network.processes import run

HEDERA = Path(sys.executable).with_name("hedera")
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


def footprint():
    """Everything a run could leave on the machine."""
    marked = subprocess.run(
        ["grep", "-lsa", f"{MARK}=", *map(str, Path("/proc").glob("[0-9]*/environ"))],
        capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    return {
        "links": run(["ip", "-br", "link"]),
        "namespaces": run(["ip", "netns"]),
        "processes": marked,
        "cgroups": [str(p) for p in Path("/sys/fs/cgroup").glob("**/hedera-*")],
        "folders": [p.name for p in HOME.glob("*-*")],
        "congestion": ALLOWED.read_text(),
    }


def hedera_run(out, *options, scheme="ecmp", traffic="stride:4", bw=2, seconds=4):
    command = [HEDERA, "run", "--scheme", scheme, "--traffic", traffic, "--bw", bw, "--seconds", seconds]
    return subprocess.run(
        [*map(str, command), "--out", str(out), "--json", *options],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def result_of(out, *options, **settings):
    """The result that a run prints, valid or not."""
    done = hedera_run(out, *options, **settings)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
