"""`hedera table 2` in emulation: what it asks for, and what it makes of runs."""

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import table_2
from harness.cli.group import cli
from harness.cli.table_2 import every_shuffle, jobs_of, shuffles, transfer_bytes
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.progress import InGuests
from harness.sweep.store import RESULT
from harness.sweep.suites import suite
from results.record import decode
from tests.harness.real_runs import HEDERA
from tests.harness.sweep.run_files import run_json
from virtual import cache, kernel
from virtual.guest import Progress

BASE = RunSpec("ecmp", "stride:1", link_mbps=10.0, seconds=20)


def test_transfers_take_as_long_as_the_papers():
    assert transfer_bytes(1000.0, 1.0) == 500 * 2**20
    assert transfer_bytes(10.0, 1.0) * 8e-6 / 10 == pytest.approx(500 * 2**20 * 8e-6 / 1000, rel=1e-6)
    (job,) = jobs_of(BASE, ["ecmp"], 1, 0.1, Path("/nowhere"))
    assert job.spec.traffic == "shuffle:524288"
    assert job.spec.seconds == pytest.approx(4 * 15 * 0.524288 * 8 / 10, abs=1)
    assert job.spec.for_its_traffic().new_flows == "switch"


def test_a_scheme_without_a_valid_run_is_told(tmp_path):
    found, bad = shuffles(jobs_of(BASE, ["ecmp"], 1, 0.1, tmp_path))
    assert (found, bad) == ({}, ["ecmp, trial 1: it did not run"])


def test_all_tries_are_known_beside_those_that_count(tmp_path):
    job, other = jobs_of(BASE, ["ecmp", "hedera-sa"], 1, 0.1, tmp_path)
    tries = (
        (job.attempts[0], "invalid", 30.0),
        (job.attempts[1], "ok", 20.0),
        (other.folder, "invalid", None),
    )
    for folder, verdict, took in tries:
        turns = {"shuffle_s": took, "host_completion_s": took, "goodput_mbytes_per_s": took and 1.0}
        folder.mkdir(parents=True)
        (folder / RESULT).write_text(json.dumps(run_json(verdict, turns=turns)))
    found, bad = shuffles([job, other])
    assert {scheme: [one.shuffle_s for one in done] for scheme, done in found.items()} == {"ecmp": [20.0]}
    assert bad == ["hedera-sa, trial 1: it was too slow"]
    every, left_out = every_shuffle([job, other])
    assert {scheme: [one.shuffle_s for one in done] for scheme, done in every.items()} == {"ecmp": [30.0, 20.0]}
    assert left_out == {"ecmp": 1, "hedera-sa": 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scale", "0"], "--scale"),
        (["--schemes", "no"], "no scheme 'no'"),
        (["--new-flows", "me"], "--new-flows"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    done = CliRunner().invoke(cli, ["table", "2", *arguments])
    said = done.output + str(done.exception or "")
    assert done.exit_code != 0
    assert words in said


def test_the_dynamic_suite_makes_sense_at_any_rate():
    for rate in (1.0, 25.0):
        base = RunSpec("ecmp", "stride:1", link_mbps=rate, seconds=20)
        for one in suite("dynamic", base):
            spec = RunSpec("ecmp", one.traffic, link_mbps=rate, seconds=20, scale_sizes=one.scale_sizes)
            assert spec.workload().expected_flows < 300 * 20
            assert spec.for_its_traffic().new_flows == "switch"


def in_virtual_time(monkeypatch, out, carry_out, *options):
    """`hedera table 2 --time virtual`, with guests that are none."""
    monkeypatch.setattr(table_2, "in_guests", lambda base, at_once: InGuests(None, at_once))
    monkeypatch.setattr(guests, "carry_out", carry_out)
    command = ["table", "2", "--time", "virtual", "--schemes", "nonblocking,ecmp", "--jobs", "2"]
    return CliRunner().invoke(cli, [*command, "--out", str(out), *options])


def test_in_virtual_time_guests_make_it(monkeypatch, tmp_path):
    asked = []

    def carry_out(jobs, ground, at_once, watcher):
        asked.extend((job.spec.scheme, job.spec.time, job.spec.datapath, at_once) for job in jobs)
        for job, took in zip(jobs, (10.0, 15.0), strict=True):
            for clock in (3.0, 4.0):
                watcher.look([(job, "sending", Progress(clock, 9.0))])
            turns = {"shuffle_s": took, "host_completion_s": took, "goodput_mbytes_per_s": 1.0}
            run = run_json("ok", turns=turns) | {"scheme": job.spec.scheme}
            job.folder.mkdir(parents=True)
            (job.folder / RESULT).write_text(json.dumps(run))
            watcher.done(job, decode(json.dumps(run).encode()))

    done = in_virtual_time(monkeypatch, tmp_path, carry_out, "--json")
    assert done.exit_code == 0, done.output
    assert asked == [(scheme, "virtual", "kernel", 2) for scheme in ("nonblocking", "ecmp")]
    assert (tmp_path / "k4-10mbps-scale1-virtual/table2.csv").exists(), "apart from real time's"
    said = done.stderr.splitlines()
    assert "to go; virtual time: a simulated second of 16 hosts takes" in said[1]
    assert said[2:4] == [
        "nonblocking, trial 1: sending, 3 s of virtual time in 9 s",
        "nonblocking, trial 1: took 10.0 s",
    ]
    rows = {row["scheme"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["ecmp"]["shuffle_to_control"] == 1.5


def test_a_guest_that_is_lost_is_told_by_its_reason(monkeypatch, tmp_path):
    def carry_out(jobs, ground, at_once, watcher):
        for job in jobs:
            run = run_json("invalid", None) | {"reasons": ["the guest's run is lost: it was killed"]}
            job.folder.mkdir(parents=True)
            (job.folder / RESULT).write_text(json.dumps(run))

    said = str(in_virtual_time(monkeypatch, tmp_path, carry_out).exception)
    assert said == "no shuffle was valid: nonblocking, trial 1: the guest's run is lost: it was killed"


@contextmanager
def under_way(out):
    """A shuffle in a guest that has booted; the guest's folder."""
    kernel.kernel(print)
    jobs = cache.folder("jobs")
    before = set(jobs.iterdir())
    command = [
        HEDERA,
        "table",
        "2",
        "--time",
        "virtual",
        "--schemes",
        "ecmp",
        "--scale",
        "0.02",
        "--jobs",
        "1",
    ]
    with subprocess.Popen([*command, "--out", out], stderr=subprocess.PIPE, text=True) as process:
        try:
            limit = time.monotonic() + 120
            while not (booted := [job for job in set(jobs.iterdir()) - before if of_guest(job, process.pid)]):
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < limit
                time.sleep(0.05)
            while not (booted[0] / "out/facts").exists():
                assert time.monotonic() < limit
                time.sleep(0.05)
            yield process, booted[0]
        finally:
            process.kill()


def of_guest(job, parent=None):
    """The processes of a guest, of that parent's if one is named."""
    whose = [] if parent is None else ["-P", str(parent)]
    told = subprocess.run(["pgrep", *whose, "-f", str(job)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in told.split()]


@pytest.mark.virtual
@pytest.mark.parametrize(
    ("how", "status", "sentence"),
    [
        (signal.SIGINT, 130, "hedera: stopped; everything is torn down, finished results are kept"),
        (signal.SIGKILL, 1, "the guest's run is lost: the guest ended without a result: it was killed"),
    ],
)
def test_a_table_whose_guest_is_ended_leaves_nothing(tmp_path, how, status, sentence):
    with under_way(tmp_path) as (process, job):
        (guest,) = of_guest(job, process.pid)
        os.kill(guest if how == signal.SIGKILL else process.pid, how)
        _, said = process.communicate(timeout=120)
    assert process.returncode == status
    assert sentence in said.splitlines()[-1], said
    assert "Traceback" not in said
    assert not job.exists()
    assert not of_guest(job)
