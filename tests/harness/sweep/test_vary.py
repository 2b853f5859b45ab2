"""Sweeps over options: every combination once, in one folder; and what is no value."""

import csv
from contextlib import nullcontext

import pytest

from harness.cli import sweep
from harness.verdict.result import failed_run
from results import record
from tests.harness.test_cli import asked, assert_one_sentence

SWEEP = ("sweep", 1, 5, "--patterns", "stride:4", "--schemes", "ecmp", "--time", "virtual", "--results")


@pytest.mark.parametrize(("more", "schemes"), [((), 5), (("--schemes", "ecmp,random"), 2)])
def test_a_suite_may_have_schemes_of_its_own(more, schemes, tmp_path, monkeypatch):
    """The replication report's five, unless others are asked for."""
    found = []
    monkeypatch.setattr("harness.sweep.progress.carry_out_with_progress", lambda jobs, *_: found.extend(jobs))
    monkeypatch.setattr(sweep, "carrier", lambda *asked, **named: nullcontext())
    command = ("sweep", 1, 5, "--suite", "replication", "--time", "virtual", "--results", tmp_path)
    asked(*command, *more)
    assert len({(job.spec.traffic, job.spec.scheme) for job in found}) == len(found) == 27 * schemes


@pytest.fixture
def done(monkeypatch):
    """What was carried out, as rates and periods: every run fails, and is kept."""
    found = []

    def carry_out(jobs, folder, where):
        for job in (job for job in jobs if not job.done):
            found.append((job.spec.link_mbps, job.spec.interval_s))
            job.folder.mkdir(parents=True)
            record.write(job.folder / "run.json", failed_run(job.spec, "not carried out"))

    monkeypatch.setattr("harness.sweep.progress.carry_out_with_progress", carry_out)
    monkeypatch.setattr(sweep, "carrier", lambda *asked, **named: nullcontext())
    return found


def test_every_combination_is_a_sweep_and_one_table_has_them_all(done, tmp_path):
    command = (*SWEEP, tmp_path, "--name", "mine", "--vary", "bw=5,10", "--vary")
    assert asked(*command, "interval=1").returncode == 0
    assert done == [(5, 1), (10, 1)]
    told = asked(*command, "interval=1,2")
    assert done == [(5, 1), (10, 1), (5, 2), (10, 2)], "what is done is not done again"
    assert "bw 5.0, interval 2.0" in told.stdout
    with (tmp_path / "mine" / "summary.csv").open() as file:
        rows = [(row["bw"], row["interval"], row["scheme"], row["capacity_mbps"]) for row in csv.DictReader(file)]
    assert rows == [(bw, s, "ecmp", all_) for bw, all_ in (("5", "80"), ("10", "160")) for s in "12"]
    changed = asked(*command, "interval=1", "--queue", 60)
    assert_one_sentence(changed, 2, "queue 50 there, 60 here")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("bw=5,0", "--bw must be at least 0.1"),
        ("bw=ten", "'ten' is not a valid float"),
        ("colour=red", "OPTION=VALUE"),
        ("scheme=ecmp", "OPTION=VALUE"),
        ("platform=pox,nox", "'nox' is not one of"),
        ("k=4,5", "even k"),
        ("flows-per-host=1,0", "--flows-per-host"),
    ],
)
def test_a_bad_value_is_one_sentence_before_anything_is_run(done, tmp_path, values, words):
    assert_one_sentence(asked(*SWEEP, tmp_path, "--vary", values), 2, words)
    assert done == []
    assert list(tmp_path.iterdir()) == []
