"""What the user sees of a sweep; no run is real here."""

import json
import time

import click
import pytest

from commands.options import quiet_option
from harness.errors import RunFailed
from harness.run.spec import RunSpec
from harness.sweep import guest_costs, guests, progress
from harness.sweep.plan import keep_settings, plan
from harness.sweep.progress import InGuests
from harness.sweep.store import RESULT
from harness.sweep.suites import TrafficSpec
from results.live import LIVE
from results.record import decode
from tests.harness.sweep.run_files import run_json
from virtual.guest import Progress
from watch.follower import Follower


@pytest.fixture
def told(monkeypatch, tmp_path):
    """A sweep of two runs, one of a file, carried out by a fake."""
    (tmp_path / "deep" / "below").mkdir(parents=True)
    file = tmp_path / "deep" / "below" / "m.csv"
    file.write_text("src_host,dst_host\n0,15\n")
    base = RunSpec("ecmp", "stride:1", seconds=10, platform="os-ken", datapath="user")
    folder = tmp_path / "sweep"
    folder.mkdir()
    keep_settings(base, folder)
    verdicts = ["ok", "ok", "invalid", "invalid", "ok"]

    def fake_run(spec, folder, say):
        for stage in ("building", "sending", "finishing", "judging", "publishing"):
            say(stage)
        result = run_json(verdicts.pop(0), rate=40.0) | {"scheme": spec.scheme, "traffic": spec.traffic}
        folder.mkdir(parents=True)
        (folder / RESULT).write_text(json.dumps(result))
        return decode(json.dumps(result).encode())

    monkeypatch.setattr("harness.sweep.plan.run_experiment", fake_run)
    monkeypatch.setattr(progress, "sole_use", lambda *_: Nothing())
    monkeypatch.setattr(progress, "feed", lambda folder: Nothing())
    workloads = [TrafficSpec("stride:1"), TrafficSpec(f"file:{file}")]
    return plan(base, workloads, ["nonblocking", "ecmp"], 1, folder), folder, verdicts


class Nothing:
    def __enter__(self):
        return lambda live: None

    def __exit__(self, *exception):
        pass


def test_a_log_has_one_line_per_run_and_two_for_what_was_drawn(told, capsys):
    jobs, folder, _ = told
    with pytest.raises(RunFailed, match=r"^of 4 runs 1 is invalid, and shown as such; use a lower --bw"):
        progress.carry_out_with_progress(jobs, folder)
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if "trial 1" in line and not line.startswith("invalid:")]
    assert len(lines) == 5, "four runs, one of which was tried twice"
    assert "file:m.csv" in err
    assert str(folder.parent / "deep") not in err + out, "a file is told by its name"
    assert [line for line in out.splitlines() if str(folder) in line] == [
        f"pictures and tables: {folder}/figures/",
        f"the page: {folder}/report.html",
    ]


def test_a_quiet_sweep_tells_what_does_not_count_alone(told, capsys):
    jobs, folder, _ = told

    @click.command()
    @quiet_option
    def command():
        progress.carry_out_with_progress(jobs, folder)

    with pytest.raises(RunFailed):
        command.main(["--quiet"], standalone_mode=False)
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert err.startswith("invalid: ")
    assert "the page: " in out


def test_runs_that_are_not_judged_are_no_silent_success(told, capsys):
    jobs, folder, verdicts = told
    verdicts[:] = [
        "not judged",
        "ok",
        "not judged",
        "invalid",
        "invalid",
    ]  # only the invalid one is tried again
    with pytest.raises(
        RunFailed, match=r"^of 4 runs 1 is invalid and 2 are not judged, .*; longer runs can be judged; use a"
    ):
        progress.carry_out_with_progress(jobs, folder)
    err = capsys.readouterr().err
    assert "not judged: stride:1 nonblocking trial 1: it was too slow" in err.splitlines()
    assert " not judged: it was too slow" in err, "as the run ended"


def test_a_sweep_in_guests_tells_both_clocks_to_whoever_watches_and_forecasts_from_what_they_take(
    monkeypatch, tmp_path, capsys
):
    costs = guest_costs.Costs(10.0, (1000.0,), (1.0,))  # 20 s a run of ten seconds
    monkeypatch.setattr("harness.sweep.plan.costs", lambda: costs)
    monkeypatch.setattr(progress, "costs", lambda: costs)
    monkeypatch.setattr(progress, "processors", lambda: 1)
    base = RunSpec("ecmp", "stride:4", seconds=10, time="virtual", platform="os-ken", datapath="kernel")
    keep_settings(base, tmp_path)
    jobs = plan(base, [TrafficSpec("stride:4")], ["nonblocking", "ecmp"], 1, tmp_path)
    seen = []
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)  # what is left is less by as long as this test takes

    def carry_out(jobs, ground, at_once, watcher):
        for job in jobs:
            watcher.look([(job, "sending", Progress(12.0, 30.0))])
            seen.append(Follower(tmp_path).now())
            took = {"guest_real_s": 80.0}
            verdict = "ok" if job.spec.scheme == "ecmp" else "invalid"
            run = run_json(verdict, 40.0, environment=took) | {"scheme": job.spec.scheme}
            job.folder.mkdir(parents=True)
            (job.folder / RESULT).write_text(json.dumps(run))
            watcher.done(job, decode(json.dumps(run).encode()))

    monkeypatch.setattr(guests, "carry_out", carry_out)
    with pytest.raises(RunFailed, match=r"of 2 runs 1 is invalid, and shown as such; the reasons are above"):
        progress.carry_out_with_progress(jobs, tmp_path, InGuests(None, 2))
    err = capsys.readouterr().err
    assert "2 runs, 0 already done; about 40 s to go." in err, "more guests than processors take turns"
    assert "a simulated second of 16 hosts takes 1 s at 10 Mb/s" in err
    assert "(as measured here)" in err
    assert [page["runs"][0]["stage"] for page in seen] == ["sending, 12 s of virtual time in 30 s"] * 2
    # 20 s are foreseen for each, and all of the first one's are over; of two guests on one processor it took 80 s,
    # twice as long as foreseen.
    assert [page["left"] for page in seen] == ["20 s", "10 s"]
    assert not (tmp_path / LIVE).exists()
