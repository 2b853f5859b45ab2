"""A sweep on a cluster that nobody is root of: a scheduler, two workers and a client of an ordinary user's, virtual
time, a pattern and a scheduler of the user's own that the workers do not have."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests import made

pytest.importorskip("distributed")
pytestmark = [pytest.mark.virtual, pytest.mark.timeout(900)]
HEDERA = Path(sys.executable).with_name("hedera")
UID = 4321
PATTERN = "def half(tree, rng): return [(host, host ^ 8) for host in range(8)]\n"
SCHEDULER = """
class Mine:
    def __init__(self, tree, rng, options): pass
    def place(self, flows, links): return flows.core
"""


@pytest.fixture
def place():
    """A folder that an ordinary user has, with the kernel in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kernels = folder / "cache/hedera/virtual/kernels"
        made.machine_code(kernels.parent / "compiled")
        for path in (folder / "cache", folder / "cache/hedera", kernels.parent, kernels):
            path.chmod(0o700)
        (folder / "mine").mkdir()
        (folder / "mine/p.py").write_text(PATTERN)
        (folder / "mine/s.py").write_text(SCHEDULER)
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{UID}:{UID}", folder], check=True)
        yield folder


def as_user():
    """What goes before a command of that user's."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--bounding-set=-all", "--"]


def test_two_workers_make_a_sweep_in_virtual_time(place):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "XDG_CACHE_HOME": str(place / "cache"),
        "TMPDIR": str(place),
    }
    ours = {"cwd": place / "mine", "env": environment, "text": True}
    for path in (sys.executable, __file__):
        if subprocess.run([*as_user(), "test", "-r", path], **ours, check=False).returncode:
            pytest.skip("no ordinary user can read this code, or its environment")

    def start(*words, **more):
        command = [*as_user(), str(HEDERA), "cluster", *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, **{**ours, **more})
        return process, process.stdout.readline().strip().rpartition(" ")[2]

    keys = place / "keys"
    processes = []
    with (place / "log.txt").open("w") as log:
        subprocess.run([*as_user(), HEDERA, "cluster", "keys", keys], **ours, check=True, stdout=log)
        try:
            scheduler, at = start("scheduler", "--listen", "tls://127.0.0.1:0", "--keys", keys)
            processes.append(scheduler)
            for name in ("one", "two"):
                (place / name).mkdir()
                # Each stands where none of the user's files are.
                words = ("worker", at, "--keys", keys, "--name", name, "--jobs", 1)
                processes.append(start(*words, cwd=place / name)[0])
            schemes = "nonblocking,s.py:Mine"
            sweep = ["sweep", "1", "3", "--patterns", "p.py:half", "--schemes", schemes, "--bw", "2"]
            where = ["--results", place / "results", "--name", "far", "--cluster", at, "--keys", keys]
            done = subprocess.run([*as_user(), HEDERA, *sweep, *where], **ours, capture_output=True, check=False)
        finally:
            for process in reversed(processes):
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=120)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(path.read_text()) for path in (place / "results/far").glob("*/*/trial-1/run.json")]
    assert sorted((run["scheme"], run["traffic"], run["verdict"]) for run in runs) == [
        ("nonblocking", "p.py:half", "ok"),
        ("s.py:Mine", "p.py:half", "ok"),
    ]
    assert sorted(run["environment"]["worker"] for run in runs) == ["one", "two"]
    for run in runs:
        assert run["environment"]["time"] == run["spec"]["time"] == "virtual"
        assert run["matrix"] == [[host, host ^ 8] for host in range(8)]
    wait_until = time.monotonic() + 20
    while (left := sorted(place.glob("hedera-*"))) and time.monotonic() < wait_until:
        time.sleep(0.2)
    assert left == [], "what was sent, and what came of it, is gone"
    assert list((place / "cache/hedera/virtual/jobs").iterdir()) == []
