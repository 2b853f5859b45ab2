import subprocess
import time

import pytest

from harness.errors import RunFailed
from harness.network import deadline as module
from harness.network.deadline import deadline, hurry


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    monkeypatch.setattr(module, "_hurried", False)


def test_a_wait_without_end_ends():
    with pytest.raises(RunFailed, match="it hangs"), deadline(0.1, "it hangs"):
        subprocess.run(["sleep", "60"], check=True)


def test_a_block_in_time_is_left_alone():
    with deadline(0.1, "it hangs"):
        pass
    time.sleep(0.2)


def test_the_outer_one_still_holds_after_an_inner_one():
    with pytest.raises(RunFailed, match="outer"), deadline(0.3, "outer"):
        with deadline(5, "inner"):
            pass
        time.sleep(60)


def test_a_tear_down_that_hangs_as_well_is_got_over(monkeypatch):
    monkeypatch.setattr("harness.network.deadline.AGAIN_S", 0.1)
    begin = time.monotonic()
    with pytest.raises(RunFailed), deadline(0.1, "it hangs"):
        try:
            time.sleep(60)
        finally:
            time.sleep(60)
    assert time.monotonic() - begin < 59


def test_who_is_in_a_hurry_waits_for_no_long_deadline(monkeypatch):
    monkeypatch.setattr(module, "AGAIN_S", 0.1)
    begin = time.monotonic()
    with pytest.raises(RunFailed, match="it hangs"), deadline(600, "it hangs"):
        hurry()
        time.sleep(60)
    with pytest.raises(RunFailed, match="outer"), deadline(600, "outer"):
        with deadline(50, "inner"):
            hurry()
        time.sleep(60)
    assert time.monotonic() - begin < 59


def test_without_a_deadline_a_hurry_rings_nothing(monkeypatch):
    monkeypatch.setattr(module, "AGAIN_S", 0.05)
    hurry()
    time.sleep(0.1)
