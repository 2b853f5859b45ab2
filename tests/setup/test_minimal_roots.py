"""The whole set-up in minimal file systems of distributions, and a real run in each. Minutes each, so off by default:

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
FEW = "--variant=minbase", "--include=apt,ca-certificates,git"

pytestmark = [
    pytest.mark.root,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(
        not NAMES or not shutil.which("mmdebstrap"),
        reason="HEDERA_TEST_ROOTS=bookworm,trixie makes them with mmdebstrap, in minutes",
    ),
]


@pytest.fixture(scope="module", params=NAMES or ["none"])
def system(request):
    """A function that runs a command in a minimal system with a clone in a student's home, as `sudo` would."""
    name = request.param
    mirror = "http://deb.debian.org/debian"
    options = list(FEW)
    if name in UBUNTU:
        mirror = "http://archive.ubuntu.com/ubuntu"
        options += ["--components=main,universe", f"--keyring={KEYRING}"]
    # Not below /tmp, which may be small; and removed by its path within this file system alone.
    with tempfile.TemporaryDirectory(prefix=f"hedera-{name}-", dir="/var/tmp") as folder:
        root = Path(folder) / "root"
        subprocess.run(["mmdebstrap", *options, name, root, mirror], check=True, capture_output=True)

        def run(*command, **variables):
            return subprocess.run(
                [ENTER, root, "env", *(f"{k}={v}" for k, v in variables.items()), *map(str, command)],
                capture_output=True,
                text=True,
                cwd="/",
            )

        home = root / "home/student"
        assert run("useradd", "--create-home", "--uid", STUDENT, "student").returncode == 0
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, home / "hedera"], check=True)
        assert run("chown", "-R", "student:", "/home/student").returncode == 0
        sudo = {"SUDO_UID": STUDENT, "SUDO_GID": STUDENT, "SUDO_USER": "student"}
        yield lambda *command: run(*command, **sudo)


def test_set_up_and_run(system):
    clone = "/home/student/hedera"
    done = system(f"{clone}/setup/install.sh", "--check")
    assert done.returncode == 0, done.stderr
    assert "could not" not in done.stderr
    again = system(f"{clone}/setup/install.sh", "--check")
    assert all("there is no package" in line for line in again.stderr.splitlines()), again.stderr
    assert system("find", clone, "-uid", "0").stdout == ""

    done = system(f"{clone}/.venv/bin/hedera", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr

    done = system(
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
    assert system("find", clone, "-uid", "0").stdout == ""
