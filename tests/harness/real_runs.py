"""What the tests of real runs share: the command, and everything a run could leave on the machine."""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from harness.network.cleanup import HOME
from harness.network.host_setup import ALLOWED
from harness.network.machine import SYSCTL
from harness.network.processes import run_program
from record.files import is_alive
from tests.commands import hedera, ran

LONG = pytest.mark.skipif(
    "HEDERA_LONG" not in os.environ, reason="HEDERA_LONG=1 runs what a quarter of an hour has no room for"
)
ATTEMPTS = 3
PROGRAMS = ("ovs-vswitchd", "ovsdb-server", "iperf", "bwm-ng", "peer.py", "sink.py", "controllers.")
"""Parts of the command lines of what a run starts."""


def footprint():
    """Everything a run could leave on the machine, apart from what living runs of others have just now."""
    said = ran("ps", "-eo", "pid=,stat=,args=", check=True).stdout
    folders = [path for path in HOME.glob("*-*") if path.is_dir()]
    living = [folder for folder in folders if is_alive(folder.name)]
    groups = Path("/sys/fs/cgroup").glob("**/hedera-*")
    return {
        "links": run_program(["ip", "-br", "link"]),
        "namespaces": run_program(["ip", "netns"]),
        "processes": [
            f"{pid} {words}"
            for pid, state, words in (line.split(maxsplit=2) for line in said.splitlines())
            if any(name in words for name in PROGRAMS) and "Z" not in state
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
    asked = ("--scheme", scheme, "--traffic", traffic, "--bw", bw, "--seconds", seconds)
    return hedera("run", *asked, "--out", out, "--json", *options)


def result_of(out, *options, **settings):
    """The result that a run prints, valid or not. One that cannot be judged, on a machine that others keep busy, is
    made again."""
    for _ in range(ATTEMPTS):
        shutil.rmtree(out, ignore_errors=True)
        done = hedera_run(out, *options, **settings)
        assert done.stdout, done.stderr
        result = json.loads(done.stdout)
        if result["verdict"] != "not judged":
            break
    return result


def working_for(process):
    """The process that is root for a command, and has the machine; None as long as it has not."""
    lock = HOME / "lock"
    found = re.match(r"process (\d+) ", lock.read_text() if lock.exists() else "")
    if found is not None:
        with suppress(OSError):
            parent = int(Path(f"/proc/{found[1]}/stat").read_text().rpartition(")")[2].split()[1])
            return int(found[1]) if parent == process.pid else None
    return None


def sends():
    """Whether traffic of iperf's flows."""
    return any("iperf -c" in each for each in footprint()["processes"])
