"""What the tests of real runs share: the command, and everything a run could leave on the machine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.network.footprint import HOME, MARK, SETTINGS
from harness.network.processes import run, wait_until
from results.temporary import is_alive

LONG = pytest.mark.skipif(
    "HEDERA_LONG" not in os.environ, reason="HEDERA_LONG=1 runs what a quarter of an hour has no room for"
)
HEDERA = Path(sys.executable).with_name("hedera")


def footprint():
    """Everything a run could leave on the machine, apart from what living runs of others have just now."""
    marked = subprocess.run(
        ["grep", "-lsa", f"{MARK}=", *map(str, Path("/proc").glob("[0-9]*/environ"))],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    folders = [path for path in HOME.glob("*-*") if path.is_dir()]
    living = [folder for folder in folders if is_alive(folder.name)]
    return {
        "links": run(["ip", "-br", "link"]),
        "namespaces": run(["ip", "netns"]),
        "processes": [path for path in marked if not _of_living(path)],
        "cgroups": [
            str(path)
            for path in Path("/sys/fs/cgroup").glob("**/hedera-*")
            if not is_alive(path.name.removeprefix("hedera-"))
        ],
        "folders": [folder.name for folder in folders if folder not in living],
        "settings": [_unchanged(setting.path, living) for setting in SETTINGS],
    }


def _unchanged(setting, living):
    """What a setting is, or was before a living run changed it; 0 where the kernel has yet to load what has it."""
    notes = [note for folder in living if (note := folder / setting.name).exists()]
    found = (notes or [setting])[0]
    return found.read_text().split("\n")[0].strip() if found.exists() else "0"


def _of_living(environ):
    """Whether a process is marked as a living run's."""
    try:
        variables = Path(environ).read_bytes().split(b"\0")
    except OSError:
        return True  # it is gone
    owners = [v.decode().removeprefix(f"{MARK}=") for v in variables if v.startswith(f"{MARK}=".encode())]
    return any(is_alive(owner) for owner in owners)


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
    return text.removeprefix(f"{process.pid} ").split(";")[0] if text.startswith(f"{process.pid} ") else ""


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
