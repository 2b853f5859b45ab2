import json
import os
import time

import pytest

from results import record
from results.live import LIVE, MAX_BYTES, Now, read_live
from tests.watch.sweep_at_work import at_work, finish, under_way
from watch import follower as follower_module
from watch.follower import Follower


@pytest.fixture
def folder(tmp_path):
    finish(tmp_path, "nonblocking")
    finish(tmp_path, "ecmp")
    return tmp_path


def test_what_is_under_way_is_told_as_it_is_now(folder):
    follower = Follower(folder)
    at_work(folder, under_way(second=5), done=2)
    now = follower.now()
    assert (now["at_work"], now["done"], now["jobs"]) == (True, 2, 14)
    (run,) = now["runs"]
    assert run["name"] == "stride:4, ecmp, trial 1"
    assert run["total"] == (20.0, 40.0, 60.0, 80.0, 100.0)
    assert run["hosts"] == [6.25] * 16
    assert run["links"] == [9.5] * 96
    at_work(folder, under_way(second=6), done=2)
    assert follower.now()["runs"][0]["t"][-1] == 6
    json.dumps(follower.now(), allow_nan=False)


def test_the_control_has_hosts_and_no_tree(folder):
    at_work(folder, under_way("nonblocking"))
    (run,) = Follower(folder).now()["runs"]
    assert run["links"] == []
    assert len(run["hosts"]) == 16


def test_a_finished_run_fills_its_bar_in_and_changes_the_revision(folder):
    follower = Follower(folder)
    before = follower.finished()
    revision = follower.now()["revision"]
    assert "2 runs, all valid" in before
    assert follower.now()["revision"] == revision
    finish(folder, "hedera-sa")
    assert follower.now()["revision"] == revision + 1
    after = follower.finished()
    assert "3 runs, all valid" in after
    assert "hedera-sa" in after
    assert "hedera-sa" not in before


def test_an_invalid_run_is_shown_with_its_reason_and_without_markup_of_its_own(folder):
    finish(folder, "ecmp", trial=2, verdict="invalid", reasons=["<script>alert(1)</script> was slow"])
    shown = Follower(folder).finished()
    assert "Runs that do not count" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; was slow" in shown
    assert "<script>" not in shown


def test_every_run_is_read_once(folder, monkeypatch):
    read = []

    def reading(path):
        read.append(path)
        return record.read(path)

    monkeypatch.setattr(follower_module, "read", reading)
    follower = Follower(folder)
    for _ in range(3):
        follower.now()
        follower.finished()
    assert len(read) == 2
    finish(folder, "random")
    follower.now()
    assert len(read) == 3


def test_a_folder_without_runs_and_one_whose_sweep_is_over(tmp_path):
    follower = Follower(tmp_path)
    assert follower.now()["at_work"] is False
    assert "No run has finished yet" in follower.page()
    at_work(tmp_path, under_way(), written=time.time() - 60)
    assert follower.now()["at_work"] is False, "left behind by a sweep that was killed"


def test_a_page_of_a_folder_with_a_larger_network_has_no_drawing(tmp_path):
    run = Now(
        pattern="random",
        scheme="ecmp",
        trial=1,
        stage="building",
        k=16,
        link_mbps=1.0,
        capacity_mbps=1024.0,
        seconds=10.0,
    )
    at_work(tmp_path, run)
    page = Follower(tmp_path).page()
    assert 'id="fabric-box"' not in page
    assert Follower(tmp_path).now()["runs"][0]["hosts"] == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"written": -1}', b"\xff" * 100, b"[" * 100_000])
def test_a_live_file_of_anything_else_is_none(tmp_path, content):
    (tmp_path / LIVE).write_bytes(content)
    assert read_live(tmp_path) is None


def test_a_live_file_that_is_no_file_is_not_read(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / LIVE)
    assert read_live(tmp_path) is None
    (tmp_path / LIVE).unlink()
    at_work(tmp_path / ".", under_way())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / LIVE).symlink_to(tmp_path / LIVE)
    assert read_live(tmp_path / "elsewhere") is None
    assert read_live(tmp_path) is not None
    monkeypatch.setattr("results.live.MAX_BYTES", 10)
    assert read_live(tmp_path) is None
    assert MAX_BYTES > 10
