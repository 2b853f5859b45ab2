"""The first minutes of a stranger in minimal file systems of distributions: root's one line, a clone, a demonstration.
Minutes each, so off by default:

sudo HEDERA_TEST_ROOTS=bookworm,trixie ./check.sh tests/setup/test_minimal_roots.py

Needs mmdebstrap, room for 2 GB each in /var/tmp, and the network. Names are Debian's (bookworm is 12, trixie 13) or,
where Ubuntu's archive keyring is installed, Ubuntu's (jammy is 22.04, noble 24.04).
"""

import os
import re
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
    """A minimal system as a server has it, with a student's clone: runs a command in it as that student, or root."""
    name, mirror, options = request.param, "http://deb.debian.org/debian", ["--variant=minbase"]
    if name in UBUNTU:
        mirror = "http://archive.ubuntu.com/ubuntu"
        options += ["--components=main,universe", f"--keyring={KEYRING}"]
    # Not below /tmp, which may be small; and removed by its path within this file system alone.
    with tempfile.TemporaryDirectory(prefix=f"hedera-{name}-", dir="/var/tmp") as folder:
        root = Path(folder) / "root"
        made = ["mmdebstrap", *options, "--include=apt,ca-certificates,git,python3,sudo", name, root, mirror]
        subprocess.run(made, check=True, capture_output=True)

        def run(*command, user=STUDENT):
            become = [] if user == 0 else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
            home = "/root" if user == 0 else "/home/student"
            inside = ["env", "-C", CLONE if user else "/", f"HOME={home}", *map(str, command)]
            return subprocess.run([ENTER, root, *become, *inside], capture_output=True, text=True, cwd="/")

        assert run("useradd", "--create-home", "--uid", STUDENT, "student", user=0).returncode == 0
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, f"{root}{CLONE}"], check=True)
        assert run("chown", "-R", "student:", "/home/student", user=0).returncode == 0
        yield run


def test_a_demonstration_of_a_user_s_without_a_compiler(system):
    told = system("./test.sh", "--demo")
    assert (told.returncode, "python3-venv" in told.stderr, "iproute2" in told.stderr) == (3, True, True)
    line = re.search(r"sudo apt-get install (git python3-venv [^\n]+)", (ROOT / "README.md").read_text())[1]
    done = system("sh", "-c", f"apt-get update -q && apt-get install -qy --no-install-recommends {line}", user=0)
    assert done.returncode == 0, done.stderr
    assert system("sh", "-c", "command -v gcc cc").returncode != 0
    done = system("./test.sh", "--demo")
    assert done.returncode == 0, done.stdout + done.stderr
    made = system("sh", "-c", "cat results/runs/*/*/*/*/run.json").stdout
    assert made.count('"verdict": "ok"') == 3, made[-2000:]


def test_set_up_by_root_leaves_nothing_that_belongs_to_root(system):
    done = system("env", f"SUDO_UID={STUDENT}", f"SUDO_GID={STUDENT}", f"{CLONE}/setup/install.sh", "--check", user=0)
    assert done.returncode == 0, done.stderr
    assert system("find", CLONE, "-uid", "0").stdout == ""
    assert system(".venv/bin/hedera", "doctor", user=0).returncode == 0
