"""The whole set-up in minimal file systems of distributions, and a run in each: root's in real time, and a user's in
virtual time, where nothing was set up by root. A quarter of an hour each, so off by default:

sudo HEDERA_TEST_ROOTS=bookworm,trixie ./check.sh tests/setup/test_minimal_roots.py

Needs mmdebstrap, room for 2 GB each in /var/tmp, and the network. Names are Debian's (bookworm is 12, trixie 13) or,
where Ubuntu's archive keyring is installed, Ubuntu's (jammy is 22.04, noble 24.04).
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTER = Path(__file__).with_name("enter_root.sh")
KEYRING = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
UBUNTU = ("jammy", "noble", "resolute")
NAMES = [name for name in os.environ.get("HEDERA_TEST_ROOTS", "").split(",") if name]
STUDENT = 54321
FEW = "apt", "ca-certificates", "git"
CLONE = "/home/student/hedera"

pytestmark = [
    pytest.mark.root,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(
        not NAMES or not shutil.which("mmdebstrap"),
        reason="HEDERA_TEST_ROOTS=bookworm,trixie makes them with mmdebstrap, in minutes",
    ),
]


@pytest.fixture(params=NAMES or ["none"])
def system(request):
    """Makes a minimal system, with a few packages more, that has a clone in a student's home.

    What it gives runs a command in it, with variables for its environment, as root.
    """
    name = request.param
    mirror = "http://deb.debian.org/debian"
    options = ["--variant=minbase"]
    if name in UBUNTU:
        mirror = "http://archive.ubuntu.com/ubuntu"
        options += ["--components=main,universe", f"--keyring={KEYRING}"]
    # Not below /tmp, which may be small; and removed by its path within this file system alone.
    with tempfile.TemporaryDirectory(prefix=f"hedera-{name}-", dir="/var/tmp") as folder:
        root = Path(folder) / "root"

        def run(*command, **variables):
            return subprocess.run(
                [ENTER, root, "env", *(f"{k}={v}" for k, v in variables.items()), *map(str, command)],
                capture_output=True,
                text=True,
                cwd="/",
            )

        def made(*packages):
            few = f"--include={','.join((*FEW, *packages))}"
            subprocess.run(["mmdebstrap", *options, few, name, root, mirror], check=True, capture_output=True)
            home = root / "home/student"
            assert run("useradd", "--create-home", "--uid", STUDENT, "student").returncode == 0
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, home / "hedera"], check=True)
            assert run("chown", "-R", "student:", "/home/student").returncode == 0
            return run

        yield made


def test_set_up_and_run(system):
    run, clone = system(), CLONE
    sudo = {"SUDO_UID": STUDENT, "SUDO_GID": STUDENT, "SUDO_USER": "student"}

    def as_root(*command):
        return run(*command, **sudo)

    done = as_root(f"{clone}/setup/install.sh", "--check")
    assert done.returncode == 0, done.stderr
    assert "could not" not in done.stderr
    again = as_root(f"{clone}/setup/install.sh", "--check")
    assert all("there is no package" in line for line in again.stderr.splitlines()), again.stderr
    assert as_root("find", clone, "-uid", "0").stdout == ""

    done = as_root(f"{clone}/.venv/bin/hedera", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr

    done = as_root(
        f"{clone}/.venv/bin/hedera",
        "run",
        "--scheme",
        "ecmp",
        "--traffic",
        "stride:4",
        "--seconds",
        "5",
        "--bw",
        "1",
        "--out",
        f"{clone}/results/runs/one",
        "--json",
    )
    result = json.loads(done.stdout)
    assert result["verdict"] == "ok", result["reasons"]
    assert as_root("find", clone, "-uid", "0").stdout == ""


def test_without_root_a_sweep_in_virtual_time(system):
    """What has to be there is what setup/README.md asks an administrator for; the rest is fetched and compiled."""
    run = system("python3-venv", "gcc", "libc6-dev", "iproute2")
    user = ["setpriv", f"--reuid={STUDENT}", f"--regid={STUDENT}", "--clear-groups", "--bounding-set=-all"]
    sweep = [f"{CLONE}/test.sh", "1", "5", "--patterns", "stride:4", "--schemes", "nonblocking,hedera-sa"]
    done = run(*user, "env", "-C", CLONE, *sweep, "--bw", "2", HOME="/home/student")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "virtual time" in done.stdout + done.stderr
    made = run("find", f"{CLONE}/results/runs", "-name", "run.json", "-exec", "cat", "{}", "+").stdout
    assert made.count('"verdict": "ok"') == 2, made
    assert made.count('"time": "virtual"') >= 2, made
