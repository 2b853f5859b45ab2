"""What a sweep tells reaches its folder; and a process that does not take it holds nobody up."""

import os
import signal
import time
from multiprocessing import active_children

import pytest

from harness.run.spec import RunSpec
from harness.sweep import feed as feed_module
from harness.sweep.feed import feed
from harness.sweep.tail import begun
from results.live import LIVE, Live, read_live

SPEC = RunSpec("ecmp", "stride:4", seconds=5)


LIVE_NOW = Live(written=0.0, jobs=3, done=1, seconds_left=20.0, runs=(begun(SPEC, "building"),))


def test_the_feed_tells_what_runs_and_leaves_nothing(tmp_path):
    def told(holds):
        limit = time.monotonic() + 300
        while not ((live := read_live(tmp_path)) and holds(live)):
            assert time.monotonic() < limit, live
            time.sleep(0.2)
        return live

    with feed(tmp_path) as tell:
        tell(LIVE_NOW)
        first = told(lambda live: True)
        assert (first.runs[0].stage, first.done) == ("building", 1)
        told(lambda live: live.written > first.written)
    assert not (tmp_path / LIVE).exists()
    tell(LIVE_NOW)  # to nobody: a sweep goes on without it


@pytest.mark.timeout(300)
def test_a_process_that_reads_no_more_stops_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr(feed_module, "ENDS_S", 0.5)
    with feed(tmp_path) as tell:
        (process,) = [each for each in active_children() if each.name == "hedera-feed"]
        os.kill(process.pid, signal.SIGSTOP)
        began = time.monotonic()
        for _ in range(5000):
            tell(LIVE_NOW)
        assert time.monotonic() - began < 60
    process.join(120)
    assert process.exitcode == -signal.SIGKILL


def test_one_that_is_gone_stops_no_run_either(tmp_path):
    with feed(tmp_path) as tell:
        (process,) = [each for each in active_children() if each.name == "hedera-feed"]
        process.kill()
        process.join()
        tell(LIVE_NOW)
