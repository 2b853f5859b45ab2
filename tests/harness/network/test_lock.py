import subprocess
import sys

import pytest

from harness.errors import RunFailed
from harness.network import footprint, lock
from harness.network.lock import sole_use, tell


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setattr(footprint, "HOME", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def first(own_home):
    """Another process that has the machine until it is told a line."""
    program = (
        "from pathlib import Path\nfrom harness.network import footprint, lock\n"
        f"footprint.HOME = Path({str(own_home)!r})\n"
        "with lock.sole_use('the first'):\n    lock.tell('run 2 of 7')\n    print('in', flush=True)\n    input()\n"
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
        assert first.wait(120) == 0, "it ended by itself, and before the second began"
    (sentence,) = heard
    assert f"waiting for process {first.pid} (run 2 of 7)" in sentence


def test_while_it_waits_it_says_so_again(first, monkeypatch):
    monkeypatch.setattr(lock, "SAY_EVERY_S", 0.1)
    monkeypatch.setattr(lock, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(lock, "TELL_S", 0.0)
    heard = []
    with pytest.raises(RunFailed, match="is taken by process"), sole_use("x", heard.append, patience_s=0.5):
        pytest.fail("it was taken")
    assert len(heard) >= 3
    assert first.poll() is None


def test_it_says_so_when_another_one_was_quicker(first, own_home, monkeypatch):
    monkeypatch.setattr(lock, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(lock, "TELL_S", 0.0)
    heard = []

    def say(sentence):
        heard.append(sentence)
        (own_home / "lock").write_text("process 7 (another)")  # as the next one would, that took it in between

    with pytest.raises(RunFailed), sole_use("x", say, patience_s=0.5):
        pytest.fail("it was taken")
    assert "run 2 of 7" in heard[0]
    assert "process 7 (another)" in heard[1]
    assert len(heard) == 2


def test_one_that_was_killed_blocks_nobody(first):
    first.kill()
    first.wait()
    with sole_use("the second", patience_s=5):
        pass


def test_blocks_of_one_process_share_it(own_home):
    with sole_use("a sweep"):
        with sole_use("a run of it", patience_s=0):
            tell("run 1 of 1")
        assert "run 1 of 1" in (own_home / "lock").read_text()
    with sole_use("the next", patience_s=0):
        pass


def test_nobody_else_can_open_it(own_home):
    own_home.mkdir()
    (own_home / "lock").touch(mode=0o666)
    with sole_use():
        assert (own_home / "lock").stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(own_home, tmp_path):
    own_home.mkdir()
    (own_home / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic"), sole_use():
        pass
    assert not (tmp_path / "target").exists()
