import os
import subprocess
import sys

import pytest

from harness.errors import RunFailed
from harness.network import footprint
from harness.network.footprint import (
    MARK,
    is_alive,
    leftovers,
    owner_name,
    remove_leftovers,
    run_folder,
    sole_use,
)
from harness.network.processes import wait_until


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """A /run/hedera and a cgroup root of the test's own."""
    monkeypatch.setattr(footprint, "HOME", tmp_path / "run")
    monkeypatch.setattr(footprint, "CGROUPS", (tmp_path / "cgroup",))
    (tmp_path / "cgroup").mkdir()
    return tmp_path


def dead_owner():
    child = subprocess.Popen(["true"])
    name = f"{child.pid}-1"
    child.wait()
    return name


def test_an_owner_is_a_pid_and_when_it_started():
    assert is_alive(owner_name())
    pid, _, started = owner_name().partition("-")
    assert pid == str(os.getpid())
    assert not is_alive(f"{pid}-{int(started) + 1}"), "a pid that was used again is somebody else"
    assert not is_alive("nonsense")


def test_a_run_removes_its_folder():
    with run_folder() as folder:
        assert folder.is_dir()
        assert os.environ[MARK] == owner_name()
    assert not folder.exists()
    assert MARK not in os.environ


def test_leftovers_of_the_dead_are_removed_and_nothing_else(own_home):
    dead = dead_owner()
    (own_home / "run" / dead).mkdir(parents=True)
    (own_home / "run" / owner_name()).mkdir()
    (own_home / "cgroup" / f"hedera-{dead}" / "0_0_2").mkdir(parents=True)
    (own_home / "cgroup" / "somebody-else").mkdir()
    ours = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: dead})
    foreign = subprocess.Popen(["sleep", "60"])
    try:
        assert leftovers() == [dead]
        removed = remove_leftovers()
        assert len(removed) == 3
        assert wait_until(lambda: ours.poll() is not None, 2)
        assert foreign.poll() is None
        assert [p.name for p in (own_home / "run").iterdir()] == [owner_name()]
        assert [p.name for p in (own_home / "cgroup").iterdir()] == ["somebody-else"]
        assert remove_leftovers() == []
    finally:
        for child in (ours, foreign):
            child.kill()
            child.wait()


def test_a_second_run_on_the_machine_is_refused_and_told_who_is_first(own_home):
    program = (
        "from pathlib import Path\nfrom harness.network import footprint\n"
        f"footprint.HOME = Path({str(own_home / 'run')!r})\n"
        "with footprint.sole_use():\n    print('in', flush=True)\n    input()\n"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout.readline() == "in\n"
        with pytest.raises(RunFailed, match=f"process {first.pid}"), sole_use():
            pass
    finally:
        first.communicate("\n")
    with sole_use():
        pass
