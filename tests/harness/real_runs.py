"""What the tests of real runs share: the command, and everything a run could leave on the machine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.network.congestion import ALLOWED, SYSCTL
from harness.network.footprint import HOME
from harness.network.processes import run, wait_until
from results.temporary import is_alive

LONG = pytest.mark.skipif(
    "HEDERA_LONG" not in os.environ, reason="HEDERA_LONG=1 runs what a quarter of an hour has no room for"
)
HEDERA = Path(sys.executable).with_name("hedera")


PROGRAMS = ("ovs-vswitchd", "ovsdb-server", "iperf", "bwm-ng", "peer.py", "controllers.")
"""Parts of the command lines of what a run starts."""


def footprint():
    """Everything a run could leave on the machine, apart from what living runs of others have just now."""
    said = subprocess.run(["ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    folders = [path for path in HOME.glob("*-*") if path.is_dir()]
    living = [folder for folder in folders if is_alive(folder.name)]
    groups = Path("/sys/fs/cgroup").glob("**/hedera-*")
    return {
        "links": run(["ip", "-br", "link"]),
        "namespaces": run(["ip", "netns"]),
        "processes": [
            line for line in said.splitlines() if any(name in line for name in PROGRAMS) and " Z" not in line
        ],
        "cgroups": [str(path) for path in groups if not is_alive(path.name.removeprefix("hedera-"))],
        "folders": [folder.name for folder in folders if folder not in living],
        "congestion": sorted(_allowed(living)),
    }


def _allowed(living):
    """The algorithms of TCP that are allowed, but for what living runs have added."""
    added = {note.read_text() for folder in living if (note := folder / ALLOWED).exists()}
    return set((SYSCTL / ALLOWED).read_text().split()) - added


def hedera_run(out, *options, scheme="ecmp", traffic="stride:4", bw=2, seconds=4):
    command = [HEDERA, "run", "--scheme", scheme, "--traffic", traffic, "--bw", bw, "--seconds", seconds]
    return subprocess.run(
        [*map(str, command), "--out", str(out), "--json", *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def result_of(out, *options, **settings):
    """The result that a run prints, valid or not."""
    done = hedera_run(out, *options, **settings)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def stage_of(process):
    """What a sweep says that it is at, to all who wait for the machine."""
    lock = HOME / "lock"
    text = lock.read_text() if lock.exists() else ""
    ours = f"process {process.pid} ("
    return text.removeprefix(ours).rstrip(")").split(";")[0] if text.startswith(ours) else ""


def stop_at(process, stage):
    """Stop a sweep in the middle of a stage; False when it has ended without being met there."""
    while process.poll() is None:
        if stage_of(process).endswith(stage):
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2][1] == "T", 60)
            if stage_of(process).endswith(stage):
                return True
            process.send_signal(signal.SIGCONT)  # it was quicker
        time.sleep(0.002)
    return False
