"""What a user does twice: a run is known by its contents, and whatever changes them makes another run."""

import pytest

from harness.jobs import job
from harness.sweep import Part, TrafficSpec, carry_out_with_progress, plan, show
from plots.load import load_sweep
from record.spec import RunSpec
from tests.harness.jobs.made import SPEC, Carrier, result

SCHEDULER = "class Mine:\n    def __init__(self, tree, rng, options): pass\n    def place(self, flows): return {}\n"


@pytest.fixture
def sweep(tmp_path, capsys):
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


def test_the_same_twice_is_made_once(sweep):
    made, counted, _ = sweep(["stride:4"], ["nonblocking", "ecmp"])
    assert made == 2
    assert sweep(["stride:4"], ["nonblocking", "ecmp"])[:2] == (0, counted)


@pytest.mark.parametrize("what", ["scheduler", "matrix", "pattern", "imported"])
def test_an_edited_file_is_run_again_and_what_was_made_of_the_older_one_is_kept(tmp_path, sweep, what):
    file, edited = {
        "scheduler": (tmp_path / "own.py", (SCHEDULER, SCHEDULER + "# edited")),
        "imported": (tmp_path / "own.py", (SCHEDULER, SCHEDULER.replace("{}", "{0: 0}"))),
        "matrix": (tmp_path / "m.csv", ("src_host,dst_host\n0,5\n", "src_host,dst_host\n0,6\n")),
        "pattern": (tmp_path / "p.py", (f"def f(tree, rng): return [(0, {dst})]\n" for dst in (3, 9))),
    }[what]
    asked = {
        "scheduler": (["stride:4"], [f"{file}:Mine"]),
        "imported": (["stride:4"], [f"{file}:Mine"]),
        "matrix": ([f"file:{file}"], ["ecmp"]),
        "pattern": ([f"{file}:f"], ["ecmp"]),
    }[what]
    first, second = edited
    file.write_text(first)
    made, before, _ = sweep(*asked)
    file.write_text(second)
    made, after, said = sweep(*asked)
    assert (made, len(after)) == (1, 1)
    assert before.values() != after.values()
    assert file.name in said
    file.write_text(first)
    made, again, _ = sweep(*asked)
    assert (made, again) == (0, before), "the run of the older file is still there, and counts again"


def test_two_names_that_make_one_folder_s_name_are_two_runs(tmp_path, sweep):
    for name in ("a/b.csv", "a_b.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("src_host,dst_host\n0,5\n")
    made, counted, _ = sweep([f"file:{tmp_path}/a/b.csv", f"file:{tmp_path}/a_b.csv"], ["ecmp"])
    assert (made, len(counted)) == (2, 2)


def test_what_is_named_twice_is_made_once(tmp_path, sweep):
    made, counted, _ = sweep(["stride:4", "stride:4"], ["ecmp", "nonblocking", "ecmp"])
    assert (made, len(counted)) == (2, 2)


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
    assert job.Job(RunSpec(**{**vars_of(SPEC), "trial": 2}), {}).key == key
    for changed in ({"seed": 2}, {"seconds": 7.0}, {"queue": 49}, {"interval_s": 3.0}):
        assert job.Job(RunSpec(**{**vars_of(SPEC), **changed}), {}).key != key
    assert job.Job(SPEC, {"own.py": ""}).key != job.Job(SPEC, {"own.py": "#"}).key


def vars_of(spec):
    from dataclasses import asdict

    return asdict(spec)
