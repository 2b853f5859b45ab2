import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.network import cleanup, machine
from harness.network.cleanup import Cleaned, list_leftovers, remove_leftovers, run_folder, sole_use
from harness.network.host_setup import ALLOWED
from harness.network.processes import wait_until
from record.files import identify_pids, is_alive, name_owner, temporary_folder
from tests.commands import PATIENCE_S


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """A /run/hedera of the test's own."""
    monkeypatch.setattr(cleanup, "HOME", tmp_path / "run")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def dead_owner():
    child = subprocess.Popen(["true"])
    name = f"{child.pid}-1"
    child.wait()
    return name


def test_an_owner_is_a_pid_and_when_it_started_and_a_zombie_is_dead():
    assert is_alive(name_owner())
    pid, _, started = name_owner().partition("-")
    assert pid == str(os.getpid())
    assert not is_alive(f"{pid}-{int(started) + 1}"), "a pid that was used again is somebody else"
    assert not is_alive("nonsense")
    child = subprocess.Popen(["true"])
    name = name_owner(child.pid)
    assert wait_until(lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2][1] == "Z", PATIENCE_S)
    assert not is_alive(name)
    child.wait()


def test_leftovers_of_the_dead_are_removed_and_nothing_else(own_home):
    dead = dead_owner()
    (own_home / "run" / dead).mkdir(parents=True)
    (own_home / "tmp" / f"hedera-grade-{identify_pids()}-{dead}-x1" / "code").mkdir(parents=True)
    assert list_leftovers() == [dead]
    with temporary_folder("worker") as living:
        cleaned = remove_leftovers()
        assert list((own_home / "tmp").iterdir()) == [living]
    assert (len(cleaned.removed), cleaned.left) == (2, [])
    with run_folder() as folder:
        assert remove_leftovers() == Cleaned()
        assert list((own_home / "run").iterdir()) == [folder]
    assert not folder.exists()


def test_a_setting_that_cannot_be_put_back_keeps_nothing_else_from_being_removed(own_home, monkeypatch):
    first, second = dead_owner(), dead_owner()
    for owner in (first, second):
        (own_home / "run" / owner).mkdir(parents=True)
    note = own_home / "run" / first / ALLOWED
    note.write_text("cubic")
    monkeypatch.setattr(machine, "SYSCTL", own_home / "nowhere")
    assert remove_leftovers().left == [
        "an addition to net.ipv4.tcp_allowed_congestion_control (No such file or directory)"
    ]
    assert not (own_home / "run" / second).exists()
    assert list_leftovers() == [first], "it still says what is to be put back"
    (own_home / "nowhere").mkdir()
    (own_home / "nowhere" / ALLOWED).write_text("bbr cubic")
    assert remove_leftovers().left == []
    assert (own_home / "nowhere" / ALLOWED).read_text() == "bbr"
    assert list_leftovers() == []


def test_what_any_user_can_name_is_not_ours(own_home):
    """Folders of names that we never give are left."""
    victim = own_home / "victim"
    victim.mkdir()
    (own_home / "run").mkdir()
    names = [str(victim), f"../{victim.name}", "1-2/..", "1-2x", "١-٢", "-", "1-", "01-2", " 1-2", "1-2\n"]
    for name in names:
        if "/" not in name:
            (own_home / "run" / name).mkdir()
    before = sorted(own_home.rglob("*"))
    assert list_leftovers() == []
    assert remove_leftovers() == Cleaned()
    assert sorted(own_home.rglob("*")) == before


@pytest.mark.root
def test_a_folder_or_a_link_of_another_user_is_not_ours(own_home):
    home = own_home / "run"
    home.mkdir()
    (own_home / "victim").mkdir()
    foreign, link = home / dead_owner(), home / dead_owner()
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    link.symlink_to(own_home / "victim")
    remove_leftovers()
    assert foreign.is_dir()
    assert link.is_symlink()
    assert (own_home / "victim").is_dir()


# --- one run at a time ---


@pytest.fixture
def first(own_home):
    """Another process that has the machine until it is told a line."""
    program = (
        "from pathlib import Path\nfrom harness.network import cleanup\n"
        f"cleanup.HOME = Path({str(own_home / 'run')!r})\n"
        "with cleanup.sole_use('the first'):\n    print('in', flush=True)\n    input()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "in\n"
    yield process
    process.kill()
    process.communicate()


def test_a_newcomer_waits_and_says_for_whom(first):
    heard = []

    def say(sentence):
        heard.append(sentence)
        first.stdin.write("\n")  # only now the first one ends
        first.stdin.flush()

    with sole_use("the second", say):
        assert first.wait(PATIENCE_S) == 0, "it ended by itself, and before the second began"
    (sentence,) = heard
    assert f"waiting for process {first.pid} (the first)" in sentence


def test_one_that_was_killed_blocks_nobody(first, own_home):
    first.kill()
    first.wait()
    for doing in ("a sweep", "the next"):
        with sole_use(doing):
            assert f"process {os.getpid()} ({doing})" == (own_home / "run" / "lock").read_text()


def test_nobody_else_can_open_it_and_a_link_is_not_followed(own_home):
    lock = own_home / "run" / "lock"
    lock.parent.mkdir()
    lock.touch(mode=0o666)
    with sole_use():
        assert lock.stat().st_mode & 0o777 == 0o600
    lock.unlink()
    lock.symlink_to(own_home / "target")
    with pytest.raises(OSError, match="symbolic"), sole_use():
        pass
    assert not (own_home / "target").exists()
