import json
import shutil
from dataclasses import replace

import pytest

from harness.errors import UserMistake
from harness.run.spec import RunSpec
from harness.sweep.plan import (
    SETTINGS,
    Job,
    carry_out,
    keep_settings,
    plan,
    seconds_left,
    settle,
    split_schemes,
)
from harness.sweep.store import RESULT
from harness.sweep.suites import TrafficSpec, suite
from results.output import duration
from tests.harness.sweep.run_files import run_json

BASE = RunSpec(scheme="ecmp", traffic="stride:1", seconds=10, seed=7)


def publish(folder, verdict, rate=1.0, **more):
    folder.mkdir(parents=True)
    (folder / RESULT).write_text(json.dumps(run_json(verdict, rate, **more)))


def test_all_schemes_in_the_order_of_the_figure():
    assert split_schemes("all") == [
        "nonblocking",
        "ecmp",
        "ecmp-dst",
        "spanning-tree",
        "random",
        "hedera-gff",
        "hedera-sa",
    ]


def test_schemes_of_a_trial_face_the_same_seed_and_trials_different_ones(tmp_path):
    jobs = plan(BASE, [TrafficSpec("stride:1"), TrafficSpec("randbij")], ["ecmp", "nonblocking"], 2, tmp_path)
    assert len({job.folder for job in jobs}) == len(jobs) == 8
    assert [job.spec.seed for job in jobs] == [7] * 4 + [8] * 4
    assert [job.spec.trial for job in jobs] == [1] * 4 + [2] * 4


def test_workloads_of_one_pattern_have_folders_of_their_own(tmp_path):
    workloads = [TrafficSpec("stride:1"), TrafficSpec("stride:1", 2), TrafficSpec("stride:1", 6, 0.5)]
    jobs = plan(BASE, workloads, ["ecmp"], 1, tmp_path)
    assert len({job.folder for job in jobs}) == 3
    assert [(job.spec.flows_per_host, job.spec.keep) for job in jobs] == [(1, 1), (2, 1), (6, 0.5)]


def test_suites():
    assert len(suite("figure9", BASE)) == 20
    assert {(w.flows_per_host, w.keep) for w in suite("replication", BASE)} == {(2, 1), (6, 0.5)}
    assert len(suite("all", BASE)) == len(set(suite("all", BASE))) == 36
    for workload in suite("all", BASE):
        RunSpec("ecmp", workload.traffic, flows_per_host=workload.flows_per_host, keep=workload.keep).matrix()
    with pytest.raises(UserMistake, match="figure9, replication, dynamic, all"):
        suite("figure8", BASE)


def test_resume_skips_the_valid_tries_the_invalid_once_more_and_then_leaves_it(tmp_path):
    job = Job(BASE, tmp_path / "trial-1")
    assert job.next_folder() == job.folder
    publish(job.folder, "invalid")
    again = job.next_folder()
    assert again is not None
    assert again != job.folder
    publish(again, "invalid")
    assert job.next_folder() is None
    assert not job.outcome().valid


def test_a_valid_second_try_counts(tmp_path):
    job = Job(BASE, tmp_path / "trial-1")
    publish(job.folder, "invalid", 1)
    publish(job.attempts[1], "ok", 2)
    assert job.outcome().run.bisection_mbps == 2
    assert job.next_folder() is None


def test_a_half_written_result_is_not_a_result(tmp_path):
    job = Job(BASE, tmp_path / "trial-1")
    (tmp_path / ".trial-1.partial").mkdir()
    (tmp_path / ".trial-1.partial" / RESULT).write_text("{")
    assert job.outcome() is None
    assert job.next_folder() == job.folder


def test_a_published_result_that_lost_its_end_is_run_again_and_never_read(tmp_path):
    """As a loss of power can leave it, if the disk wrote the folder's name before the file."""
    job = Job(BASE, tmp_path / "trial-1")
    publish(job.folder, "ok")
    text = (job.folder / RESULT).read_text()
    (job.folder / RESULT).write_text(text[: len(text) // 2])
    assert job.outcome() is None
    assert job.next_folder() == job.attempts[1]
    publish(job.attempts[1], "ok", 3)
    assert job.outcome().run.bisection_mbps == 3
    assert job.next_folder() is None


def test_two_tries_that_cannot_be_read_are_told_and_not_taken_for_done(tmp_path):
    job = Job(BASE, tmp_path / "trial-1")
    for folder in job.attempts:
        publish(folder, "ok")
        (folder / RESULT).write_text("{")
    outcome = job.outcome()
    assert not outcome.valid
    assert outcome.run is None
    assert str(job.folder / RESULT) in outcome.reasons[0]
    assert job.next_folder() is None
    shutil.rmtree(job.folder)
    assert job.next_folder() == job.folder


def test_what_nothing_could_judge_is_not_tried_again_and_what_fell_short_is(tmp_path):
    """Another try of a run that is too short for every rule is as short."""
    short = {"rule": "full links", "why_not": "TCP had no second to settle in"}
    fell_short = {
        "rule": "links alone",
        "kept": False,
        "found": 0.8,
        "least": 0.9,
        "why_not": "the machine took more",
    }
    for name, rules, again in (("a", [short], False), ("b", [short, fell_short], True), ("c", [], False)):
        job = Job(BASE, tmp_path / name)
        publish(job.folder, "not judged", rules=rules)
        assert not job.outcome().valid
        assert job.next_folder() == (job.attempts[1] if again else None), name
    publish(Job(BASE, tmp_path / "b").attempts[1], "ok", 2)
    assert Job(BASE, tmp_path / "b").outcome().run.bisection_mbps == 2


def test_only_what_is_left_is_run(tmp_path, monkeypatch):
    jobs = plan(BASE, [TrafficSpec("stride:1")], ["nonblocking", "ecmp", "hedera-sa"], 1, tmp_path)
    publish(jobs[0].folder, "ok")
    verdicts = iter(["invalid", "invalid", "ok"])
    ran, warned = [], []

    def fake_run(spec, folder, say):
        verdict = next(verdicts)
        publish(folder, verdict)
        ran.append((spec.scheme, folder.name))
        return {"verdict": verdict}

    monkeypatch.setattr("harness.sweep.plan.run_experiment", fake_run)
    assert seconds_left(jobs) > 20
    carry_out(jobs, lambda job, result: None, lambda job: lambda stage: None, warned.append)
    assert ran == [("ecmp", "trial-1"), ("ecmp", "trial-1-again"), ("hedera-sa", "trial-1")]
    assert seconds_left(jobs) == 0


def test_virtual_runs_of_before_had_a_controller_that_took_no_time(tmp_path):
    base = replace(BASE, time="virtual", controller_delay_ms=0.0)
    keep_settings(base, tmp_path)
    before = json.loads((tmp_path / SETTINGS).read_text())
    del before["controller_delay_ms"]
    (tmp_path / SETTINGS).write_text(json.dumps(before))
    keep_settings(base, tmp_path)
    with pytest.raises(UserMistake, match=r"controller_delay_ms 0.0 there, 8.0 here"):
        keep_settings(replace(base, controller_delay_ms=None), tmp_path)


def test_runs_of_before_acknowledged_selectively_and_waited_as_linux_does(tmp_path):
    keep_settings(BASE, tmp_path)
    before = json.loads((tmp_path / SETTINGS).read_text())
    del before["sack"], before["min_rto_ms"]
    (tmp_path / SETTINGS).write_text(json.dumps(before))
    keep_settings(BASE, tmp_path)
    with pytest.raises(UserMistake, match=r"sack True there, False here, min_rto_ms 200 there, 20 here"):
        keep_settings(replace(BASE, sack=False, min_rto_ms=20), tmp_path)


def test_settings_of_a_folder_do_not_change(tmp_path):
    settled = settle(BASE, tmp_path)
    assert settled.platform in ("os-ken", "pox")
    assert settled.datapath in ("user", "kernel")
    assert settle(BASE, tmp_path) == settled
    with pytest.raises(UserMistake, match=r"link_mbps 10\.0 there, 5\.0 here"):
        settle(RunSpec(scheme="ecmp", traffic="stride:1", seconds=10, seed=7, link_mbps=5.0), tmp_path)


def test_runs_with_and_without_failures_are_not_mixed(tmp_path):
    broken = replace(BASE, fail=("switch:4_1_1@4",))
    settled = settle(broken, tmp_path / "broken")
    assert settle(broken, tmp_path / "broken") == settled
    with pytest.raises(UserMistake, match=r"fail \['switch:4_1_1@4'\] there, None here"):
        settle(BASE, tmp_path / "broken")
    settle(BASE, tmp_path / "whole")
    assert "fail" not in json.loads((tmp_path / "whole" / "sweep.json").read_text())
    with pytest.raises(UserMistake, match=r"fail None there, \['switch:4_1_1@4'\] here"):
        settle(broken, tmp_path / "whole")


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (130, "2 min"), (3900, "1 h 05 min"), (7200, "2 h 00 min")])
def test_durations_are_readable(seconds, words):
    assert duration(seconds) == words
