"""setup/install.sh, on a clone so small that it is set up in seconds."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = Path("/run/hedera-setup/lock")
OWNER = 54321  # whom the machine does not know: everything is to work by number
PATIENCE_S = 120

PROJECT = """
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
pytestmark = pytest.mark.real  # guests have no network, over which pip could download anything

CODE = """
def main():
    import sys
    print(sys.prefix, flush=True)
    sys.stdin.readline()
    import setuptools.wheel  # not loaded so far
    import hedera.late
    print(setuptools.__file__)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with the one package that the small clone needs, and its lock."""
    folder = tmp_path_factory.mktemp("wheels")
    text = (ROOT / "setup" / "requirements.lock").read_text()
    (folder / "lock").write_text(re.search(r"(?ms)^setuptools==.*?(?=^\S|\Z)", text)[0])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    done = subprocess.run([*command, "--dest", folder, "--requirement", folder / "lock"], check=False)
    if done.returncode:
        pytest.skip("pip cannot download setuptools here")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def clone(wheels):
    """A small clone that belongs to an ordinary user."""
    with tempfile.TemporaryDirectory(prefix="hedera-clone-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "setup").mkdir()
        for file in ("install.sh", "as-root.pth"):
            shutil.copy(ROOT / "setup" / file, folder / "setup")
        (folder / "setup/apt-packages.txt").write_text("util-linux\n")
        (folder / "setup/apt-packages-check.txt").touch()
        (folder / "setup/apt-packages-packets.txt").touch()
        for which in ("", "-check", "-cluster"):
            shutil.copy(wheels / "lock", folder / f"setup/requirements{which}.lock")
        shutil.copytree(wheels, folder / "wheels")
        (folder / "hedera").mkdir()
        (folder / "hedera/__init__.py").write_text(CODE)
        (folder / "hedera/late.py").touch()
        (folder / "pyproject.toml").write_text(PROJECT)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, OWNER, OWNER)
        yield folder


def start(clone, *options, **more):
    environment = os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(clone / "wheels")}
    return subprocess.Popen(
        [clone / "setup/install.sh", *options],
        env=environment,
        cwd="/",
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def install(clone, *options):
    """Set up; what was said."""
    with start(clone, *options) as running:
        said = running.communicate(timeout=PATIENCE_S)[1]
    assert running.returncode == 0, said
    return said


def environments(clone):
    return {path.name for path in (clone / ".venvs").iterdir()}


def touch_project(clone, remark):
    with (clone / "pyproject.toml").open("a") as file:
        file.write(f"# {remark}\n")


def of_root(clone):
    return [str(path) for path in (clone, *clone.rglob("*")) if path.lstat().st_uid == 0]


@pytest.mark.root
def test_another_user_s_clone_is_not_set_up(clone):
    done = subprocess.run(
        [clone / "setup/install.sh"], capture_output=True, text=True, cwd="/", user=OWNER + 1, group=OWNER + 1
    )
    assert done.returncode == 2
    assert done.stderr == f"setup: you cannot write to {clone}: clone the project where you can\n"


def test_an_unknown_option_is_wrong_use():
    done = subprocess.run([ROOT / "setup/install.sh", "--chek"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "setup: usage: setup/install.sh [--check | --packets | --cluster]\n",
    )


@pytest.mark.root
def test_nothing_is_left_that_belongs_to_root(clone):
    said = install(clone)
    assert "installing the Python packages" in said
    assert "WARNING" not in said, "who has no home has no cache either"
    assert install(clone) == "", "nothing to do, nothing to say"
    assert list(clone.glob("hedera/__pycache__/late.*.pyc")), "compiled, so that root need not"
    (clone / "hedera/unknown.py").touch()
    os.chown(clone / "hedera/unknown.py", OWNER, OWNER)
    subprocess.run([clone / ".venv/bin/python", "-I", "-c", "import hedera.unknown"], check=True)
    assert of_root(clone) == []
    assert (clone / ".venv").is_symlink()


@pytest.mark.root
def test_what_runs_keeps_its_environment_until_it_has_ended(clone):
    install(clone)
    before = environments(clone)
    with subprocess.Popen(
        [clone / ".venv/bin/hedera"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        prefix = running.stdout.readline().strip()
        touch_project(clone, "a change")
        install(clone)
        install(clone)
        assert len(environments(clone)) == 2
        assert (clone / ".venv").resolve() != Path(prefix)
        found = running.communicate("go on\n", timeout=PATIENCE_S)[0]
    assert running.returncode == 0
    assert found.startswith(prefix), "it went on with the code it began with"
    install(clone)
    assert environments(clone) == {(clone / ".venv").resolve().name}
    assert not environments(clone) & before


@pytest.mark.root
def test_a_second_one_waits_for_the_first(clone):
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with start(clone) as second:
            said, status = second.stderr.readline(), second.poll()
            fcntl.flock(lock, fcntl.LOCK_UN)  # before any check can fail: it would wait for ever
            second.communicate(timeout=PATIENCE_S)
    assert "another setup is running" in said
    assert status is None
    assert second.returncode == 0


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
    assert "installing the Python packages" in install(clone)
    assert (clone / ".venv").resolve() != old
    subprocess.run([clone / ".venv/bin/hedera"], stdin=subprocess.DEVNULL, check=True)


@pytest.mark.root
def test_an_environment_of_an_earlier_version_is_replaced(clone):
    (clone / ".venv").unlink()
    (clone / ".venv/bin").mkdir(parents=True)
    for path in (clone / ".venv", clone / ".venv/bin"):
        os.chown(path, OWNER, OWNER)
    install(clone)
    assert (clone / ".venv").resolve().parent == clone / ".venvs"
    install(clone)
    assert len(environments(clone)) == 1


@pytest.mark.root
def test_what_only_checks_need_comes_with_check(clone):
    install(clone)
    assert not (clone / ".venv/installed-check").exists()
    assert "the checks need" in install(clone, "--check")
    assert install(clone, "--check") == ""


@pytest.mark.root
def test_the_command_hears_nothing_of_where_it_is_called(clone, tmp_path):
    """PYTHONPATH's sitecustomize would run before the first line of ours; so would a module beside the user."""
    install(clone)
    taken = tmp_path / "taken"
    for name in ("sitecustomize", "usercustomize", "hedera", "setuptools"):
        (tmp_path / f"{name}.py").write_text(f"open({str(taken)!r}, 'w')")
    done = subprocess.run(
        [clone / ".venv/bin/hedera"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(clone))
    assert not taken.exists()


@pytest.mark.root
def test_set_up_hears_nothing_of_the_environment(clone, tmp_path):
    """What a root shell kept of a user's session: functions, what bash reads first, where temporary files go."""
    install(clone)
    taken = tmp_path / "taken"
    (tmp_path / "env").write_text(f"touch {taken}")
    settings = {"BASH_ENV": str(tmp_path / "env"), "BASH_FUNC_stat%%": f"() {{ touch {taken}; }}"}
    environment = os.environ | settings | {"TMPDIR": str(tmp_path / "nowhere"), "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        [clone / "setup/install.sh"], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not taken.exists()


@pytest.mark.root
def test_nobody_else_can_hold_its_lock(clone):
    install(clone)
    assert (LOCK.parent.stat().st_uid, LOCK.parent.stat().st_mode & 0o777) == (0, 0o700)
