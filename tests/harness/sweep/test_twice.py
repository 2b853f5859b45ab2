"""What a user does twice: a run is known by its contents, and whatever changes them makes another run."""

import re
from dataclasses import replace

import pytest

from harness.run import job
from harness.sweep import Part, TrafficSpec, carry_out_with_progress, plan, show
from plots.stored_sweep import load_sweep
from tests.harness.jobs.made import SPEC, Carrier, result

SCHEDULER = "class Mine:\n    def __init__(self, tree, rng, options): pass\n    def place(self, flows): return {}\n"


@pytest.fixture
def sweep(tmp_path, capsys, undrawn):
    """A sweep of one trial in a folder, with all that the user sees of it; each run has another rate."""
    rates = iter(range(1, 100))

    def carried_out(patterns, schemes, makes=lambda spec: result(spec, bisection_mbps=float(next(rates)))):
        where = Carrier(makes)
        jobs = plan(SPEC, [TrafficSpec(each) for each in patterns], schemes, 1, tmp_path / "runs")
        show(Part(tmp_path / "runs", {}, jobs), carry_out_with_progress(jobs, tmp_path / "runs", where))
        counted = {(run.traffic, run.scheme): run.bisection_mbps for run in load_sweep(tmp_path / "runs").runs}
        return len(where.jobs), counted, "".join(capsys.readouterr())

    (tmp_path / "runs").mkdir()
    return carried_out


@pytest.mark.parametrize(
    ("text", "before", "edited", "pattern", "scheme"),
    [
        (SCHEDULER, "", "# edited", "stride:4", "{}:Mine"),
        (SCHEDULER, "return {}", "return {0: 0}", "stride:4", "{}:Mine"),
        ("src_host,dst_host\n0,5\n", "0,5", "0,6", "file:{}", "ecmp"),
        ("def f(tree, rng): return [(0, 3)]\n", "3", "9", "{}:f", "ecmp"),
    ],
    ids=["remark", "scheduler", "matrix", "pattern"],
)
def test_an_edited_file_is_run_again_and_what_was_made_of_the_older_one_is_kept(
    tmp_path, sweep, text, before, edited, pattern, scheme
):
    file = tmp_path / "own.py"
    asked = [pattern.format(file)], [scheme.format(file)]
    file.write_text(text)
    made, counted, _ = sweep(*asked)
    assert sweep(*asked)[:2] == (0, counted)
    file.write_text(text.replace(before, edited) if before else text + edited)
    made, after, said = sweep(*asked)
    assert (made, len(after)) == (1, 1)
    assert counted.values() != after.values()
    assert file.name in said
    file.write_text(text)
    assert sweep(*asked)[:2] == (0, counted), "the run of the older file is still there, and counts again"


def test_two_names_that_make_one_folder_s_name_are_two_runs(tmp_path, sweep):
    for name in ("a/b.csv", "a_b.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("src_host,dst_host\n0,5\n")
    made, counted, _ = sweep([f"file:{tmp_path}/a/b.csv", f"file:{tmp_path}/a_b.csv"], ["ecmp"])
    assert (made, len(counted)) == (2, 2)


def test_what_is_named_twice_is_made_once(tmp_path, sweep):
    made, counted, _ = sweep(["stride:4", "stride:4"], ["ecmp", "nonblocking", "ecmp"])
    assert (made, len(counted)) == (2, 2)


def test_each_line_of_a_log_counts_what_is_done_and_tells_how_long_the_rest_takes(sweep):
    *_, said = sweep(["stride:4", "stride:8"], ["ecmp", "nonblocking"])
    counted = re.findall(r"(?m)^\d\d:\d\d:\d\d (\d/4)(, \d+:\d\d:\d\d left)?  stride", said)
    assert [number for number, _ in counted] == ["1/4", "2/4", "3/4", "4/4"]
    assert counted[-1] == ("4/4", ", 0:00:00 left")
    assert all(left for _, left in counted[1:])


def test_another_emulator_s_runs_are_told_by_name_and_made_again(sweep, monkeypatch):
    sweep(["stride:4"], ["ecmp"])
    monkeypatch.setattr(job, "EMULATOR", 7)
    made, _, said = sweep(["stride:4"], ["ecmp"])
    assert made == 1
    assert "version 7" in said


def test_runs_of_two_emulators_in_one_folder_are_told_with_the_table(sweep, monkeypatch):
    sweep(["stride:4"], ["ecmp"])
    monkeypatch.setattr(job, "EMULATOR", 7)
    _, _, said = sweep(["stride:1"], ["ecmp"])
    assert said.count("virtual time, version") >= 2


def test_a_trial_s_number_is_a_name_and_all_else_is_not():
    key = job.Job(SPEC, {}).key
    assert job.Job(replace(SPEC, trial=2), {}).key == key
    for changed in ({"seed": 2}, {"seconds": 7.0}, {"queue": 49}, {"interval_s": 3.0}):
        assert job.Job(replace(SPEC, **changed), {}).key != key
    assert job.Job(SPEC, {"own.py": ""}).key != job.Job(SPEC, {"own.py": "#"}).key
