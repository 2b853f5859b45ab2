"""setup/install.sh, on a clone so small that it is set up in seconds."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import PATIENCE_S, PROJECT, USER, of_user, open_folder, ran

LOCK = Path("/run/hedera-setup/lock")
SAMPLE = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "tiny"
version = "0"
scripts = { hedera = "hedera:main" }

[tool.setuptools]
packages = ["hedera"]
"""
CODE = """
def main():
    import sys
    print(sys.prefix, flush=True)
    sys.stdin.readline()
    import setuptools.wheel  # not loaded so far
    import hedera.late
    print(setuptools.__file__)
"""
pytestmark = pytest.mark.real  # guests have no network, over which pip could download anything


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with the one package that the small clone needs, and its lock."""
    folder = tmp_path_factory.mktemp("wheels")
    text = (PROJECT / "setup" / "requirements.lock").read_text()
    (folder / "lock").write_text(re.search(r"(?ms)^setuptools==.*?(?=^\S|\Z)", text)[0])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    if subprocess.run([*command, "--dest", folder, "--requirement", folder / "lock"], check=False).returncode:
        pytest.skip("pip cannot download setuptools here")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def clone(wheels):
    """A small clone that belongs to an ordinary user, in a folder with a letter that is not ASCII's."""
    with open_folder("klön") as folder:
        (folder / "setup").mkdir()
        for file in ("install.sh", "clean.sh", "clone.pth"):
            shutil.copy(PROJECT / "setup" / file, folder / "setup")
        shutil.copy(PROJECT / "test.sh", folder)
        (folder / "setup/apt-packages.txt").write_text("util-linux\n")
        shutil.copytree(wheels, folder / "wheels")
        for which in ("", "-check", "-cluster"):
            (folder / f"setup/apt-packages{which}.txt").touch()
            lock = f"--no-index\n--find-links {folder}/wheels\n{(wheels / 'lock').read_text()}"
            (folder / f"setup/requirements{which}.lock").write_text(lock)
        (folder / "setup/apt-packages-packets.txt").touch()
        (folder / "hedera").mkdir()
        (folder / "hedera/__init__.py").write_text(CODE)
        (folder / "hedera/late.py").touch()
        (folder / "pyproject.toml").write_text(SAMPLE)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, USER, USER) if os.geteuid() == 0 else None
        yield folder


def start(clone, *options, environment=os.environ, **more):
    command = [clone / "setup/install.sh", *options]
    return subprocess.Popen(command, env=environment, cwd="/", stderr=subprocess.PIPE, text=True, **more)


def install(clone, *options, **more):
    """Set up; what was said."""
    with start(clone, *options, **more) as running:
        said = running.communicate(timeout=PATIENCE_S)[1]
    assert running.returncode == 0, said
    return said


def environments(clone):
    return {path.name for path in (clone / ".venvs").iterdir() if path.is_dir()}


def touch_project(clone, remark):
    with (clone / "pyproject.toml").open("a") as file:
        file.write(f"# {remark}\n")


@pytest.mark.slow  # pip downloads what the clone is made with
def test_what_only_root_can_install_is_told_at_once(clone, tmp_path):
    with start(clone, environment={"PATH": str(tmp_path)}, **of_user()) as running:
        assert re.search(r"sudo apt-get install .*git .*util-linux", running.communicate()[1])
    assert running.returncode == 3


@pytest.mark.root
def test_another_user_s_clone_is_not_set_up(clone):
    with start(clone, **of_user(USER + 1)) as running:
        assert running.communicate()[1].startswith("setup: you cannot write to")
    assert running.returncode == 2


@pytest.mark.root
def test_nothing_is_left_that_belongs_to_root(clone):
    said = install(clone)
    assert "installing the Python packages" in said
    assert "WARNING" not in said, "who has no home has no cache either"
    assert install(clone, environment={**os.environ, "LC_ALL": "C"}) == "", "nothing to do, in no locale"
    assert list(clone.glob("hedera/__pycache__/late.*.pyc")), "compiled, so that root need not"
    subprocess.run([clone / ".venv/bin/hedera"], stdin=subprocess.DEVNULL, env={"LC_ALL": "C"}, check=True)
    assert [path for path in clone.rglob("*") if path.lstat().st_uid == 0] == []


@pytest.mark.root
def test_what_runs_keeps_its_environment_until_it_has_ended(clone):
    install(clone)
    before = environments(clone)
    command = [clone / ".venv/bin/hedera"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        prefix = running.stdout.readline().strip()
        touch_project(clone, "a change")
        install(clone)
        install(clone)
        assert len(environments(clone)) == 2
        found = running.communicate("go on\n", timeout=PATIENCE_S)[0]
    assert running.returncode == 0
    assert found.startswith(prefix), "it went on with the code it began with"
    install(clone)
    assert environments(clone) == {(clone / ".venv").resolve().name}
    assert not environments(clone) & before


@pytest.mark.root
def test_a_second_one_waits_for_the_first_and_nobody_else_can_hold_its_lock(clone):
    install(clone)
    assert (LOCK.parent.stat().st_uid, LOCK.parent.stat().st_mode & 0o777) == (0, 0o700)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with start(clone) as second:
            said, status = second.stderr.readline(), second.poll()
            fcntl.flock(lock, fcntl.LOCK_UN)  # before any check can fail: it would wait for ever
            second.communicate(timeout=PATIENCE_S)
    assert "waiting for it" in said
    assert (status, second.returncode) == (None, 0)


@pytest.mark.root
def test_one_that_was_killed_half_way_is_done_again(clone):
    install(clone)
    old = (clone / ".venv").resolve()
    touch_project(clone, "another change")
    with start(clone, start_new_session=True) as killed:
        deadline = time.monotonic() + PATIENCE_S
        while not any((path / "pyvenv.cfg").exists() for path in old.parent.iterdir() if path != old):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(killed.pid, signal.SIGKILL)
    assert (clone / ".venv").resolve() == old, "not turned to half an environment"
    install(clone)
    assert (clone / ".venv").resolve() != old
    subprocess.run([clone / ".venv/bin/hedera"], stdin=subprocess.DEVNULL, check=True)


@pytest.mark.root
def test_neither_set_up_nor_the_command_hears_anything_of_the_environment(clone, tmp_path):
    """What a root shell kept of a user's session: functions, what bash reads first, programs, what Python loads."""
    taken = tmp_path / "taken"
    (tmp_path / "env").write_text(f"touch {taken}")
    for name in ("dirname", "stat", "flock", "env", "python3"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {taken}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("sitecustomize", "hedera", "setuptools"):
        (tmp_path / f"{name}.py").write_text(f"open({str(taken)!r}, 'w')")
    settings = {
        "BASH_ENV": str(tmp_path / "env"), "BASH_FUNC_stat%%": f"() {{ touch {taken}; }}", "CDPATH": "/",
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path), "PIP_PYTHON": "/nonexistent",
        "APT_CONFIG": str(tmp_path / "env"), "TMPDIR": str(tmp_path / "nowhere"),
    }  # fmt: skip
    touch_project(clone, "a third change")
    install(clone, environment=os.environ | settings)
    command = [clone / ".venv/bin/hedera"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | settings, stdin=subprocess.DEVNULL, check=True)
    assert not taken.exists()


@pytest.mark.root
@pytest.mark.parametrize("known", [True, False], ids=["the pinned commit", "another one"])
def test_pox_is_fetched_into_the_user_s_cache_by_its_hash(clone, tmp_path, known):
    """From a repository that stands for the one on the network, which has the commit, or has not."""
    source, git = tmp_path / "source", ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", tmp_path / "source"]
    subprocess.run(["git", "init", "--quiet", source], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "pox"], check=True)
    made = ran(*git, "rev-parse", "HEAD", check=True).stdout.strip()
    script = clone / "setup/install.sh"
    pinned = made if known else made[::-1]
    script.write_text(re.sub(r"(?m)^pox_commit=\w+", f"pox_commit={pinned}", script.read_text()))
    (tmp_path / ".gitconfig").write_text(f'[url "{source}"]\ninsteadOf = https://github.com/noxrepo/pox\n')
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("POX_", "SUDO_"))}
    with start(clone, "--pox", environment=quiet | {"HOME": str(tmp_path)}) as running:
        said = running.communicate(timeout=PATIENCE_S)[1]
    place = tmp_path / ".cache/hedera/pox"
    assert (running.returncode, place.exists()) == ((0, True) if known else (3, False)), said
    if known:
        assert ran("git", "-C", place, "rev-parse", "HEAD", check=True).stdout.strip() == made
    else:
        assert "git clone -b halosaur https://github.com/noxrepo/pox" in said
