"""check.sh, with stand-ins for all that it calls: it ends, with everything that it started."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from harness.network.processes import wait_until
from tests.commands import PATIENCE_S, PROJECT, USER, alive, of_user, open_folder, ran

PYTEST = f"""#!{sys.executable}
import os, pathlib, resource, subprocess, sys, time
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 1024, "as a login has it"
here, words = pathlib.Path({{here!r}}), " ".join(sys.argv[1:])
child = subprocess.Popen(["sleep", "3600"])
(here / f"{{{{os.getpid()}}}}.began").write_text(words)
(here / f"{{{{child.pid}}}}.began").write_text("a child of it")
print("output of", words, flush=True)
try:
    time.sleep(3600 if any(word in words for word in (here / "lasts").read_text().split(",") if word) else 0)
    sys.exit(5 if words == (here / "fails").read_text() else 0)
except KeyboardInterrupt:
    sys.exit(2)
finally:
    child.kill()
    child.wait()
"""


@pytest.fixture
def place():
    """A clone of an ordinary user's, who runs check.sh in it."""
    with open_folder("check") as folder:
        (folder / ".venv/bin").mkdir(parents=True)
        shutil.copytree(PROJECT / "setup", folder / "setup")
        shutil.copy(PROJECT / "check.sh", folder)
        for tool in ("setup/install.sh", ".venv/bin/ruff", ".venv/bin/mypy"):
            (folder / tool).write_text("#!/bin/sh\n")
        for tool in ("pytest", "python", "hedera"):
            (folder / ".venv/bin" / tool).write_text(PYTEST.format(here=str(folder)))
        for tool in ("setup/install.sh", *(f".venv/bin/{each.name}" for each in (folder / ".venv/bin").iterdir())):
            (folder / tool).chmod(0o755)
        for empty in (".venv/installed-check", "lasts", "fails"):
            (folder / empty).touch()
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{USER}:{USER}", folder], check=True)
        yield folder
        for pid in left(folder):
            os.kill(pid, signal.SIGKILL)


def left(place):
    """What was started and has not ended, by its id."""
    return [pid for path in place.glob("*.began") if alive(pid := int(path.stem))]


def began(place):
    """What pytest was asked for."""
    return sorted(text for path in place.glob("*.began") if (text := path.read_text()) != "a child of it")


def check(place, *arguments, **settings):
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    return subprocess.Popen([place / "check.sh", *arguments], env={**os.environ, **settings}, **how, **of_user())


MININET = ran("/usr/bin/python3", "-Ic", "import mininet")
pytestmark = pytest.mark.skipif(MININET.returncode != 0, reason="no Mininet")


def test_it_runs_all_of_them_and_one_part_that_fails_fails_all(place):
    said = check(place).communicate(timeout=PATIENCE_S)[0]
    parts = began(place)
    assert len(parts) > 1
    assert all(f"output of {words}\n" in said for words in parts)
    (place / "fails").write_text(parts[0])
    process = check(place)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 5


@pytest.mark.parametrize("words", [[], ["-k", "fattree"]], ids=["all", "some"])
def test_quick_is_without_what_takes_long(place, words):
    process = check(place, "--quick", *words)
    process.communicate(timeout=PATIENCE_S)
    (asked,) = (part for part in began(place) if part)
    assert process.returncode == 0
    assert "-m not root and not virtual and not slow" in asked
    assert asked.endswith(" ".join(words))


def test_help_teaches_and_runs_nothing(place):
    process = check(place, "--help")
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "./check.sh --quick [PYTEST OPTIONS] leaves out" in said
    assert "set -e" not in said
    assert not began(place)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_all_of_it(place, number, status):
    """What a terminal sends goes to the group of the shell; a cancelled job is told by its shell alone."""
    (place / "lasts").write_text("tests.in_guests,worksteal")
    process = check(place)
    assert wait_until(lambda: len(began(place)) == 2 and len(left(place)) == 4, PATIENCE_S)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, left(place), len(began(place))) == (status, [], 2)
