"""`hedera table 2` in emulation: what it asks for, and what it makes of runs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.group import cli
from harness.cli.table_2 import every_shuffle, jobs_of, shuffles, transfer_bytes
from harness.run.spec import RunSpec
from harness.sweep.store import RESULT
from harness.sweep.suites import suite
from tests.harness.sweep.run_files import run_json

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
    assert {scheme: [one.shuffle_s for one in done] for scheme, done in every.items()} == {
        "ecmp": [30.0, 20.0]
    }
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
