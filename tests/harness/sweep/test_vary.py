"""Sweeps over options: every combination once, in one folder; and what is no value."""

import csv
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import virtual.kernel
from harness import library
from harness.cli import run
from harness.sweep import SUITES
from harness.verdict.result import make_failed_run
from plots.stored_sweep import load_sweep
from record import run as record
from record.spec import GUESTS_TCP
from tests.commands import asked
from tests.harness.test_cli import assert_one_sentence

SWEEP = ("sweep", 1, 5, "--patterns", "stride:4", "--schemes", "ecmp", "--time", "virtual", "--results")


@pytest.mark.parametrize(("more", "schemes"), [((), 5), (("--schemes", "ecmp,random"), 2)])
def test_a_suite_may_have_schemes_of_its_own(more, schemes, tmp_path, planned):
    """The replication report's five, unless others are asked for."""
    asked("sweep", 1, 5, "--suite", "replication", "--time", "virtual", "--results", tmp_path, *more)
    assert len({(job.spec.traffic, job.spec.scheme) for job in planned}) == len(planned) == 27 * schemes
    assert tuple(SUITES) == run.SUITES, "those that the help names"


def test_a_hash_is_for_all_schemes_that_have_one(tmp_path, planned):
    schemes = "nonblocking,ecmp,spanning-tree,hedera-gff,ecmp@xor:addresses"
    asked(*SWEEP[:6], schemes, *SWEEP[7:], tmp_path, "--hash", "unsalted:edge-pair")
    assert [job.spec.scheme for job in planned] == [
        "nonblocking", "ecmp@unsalted:edge-pair", "spanning-tree", "hedera-gff@unsalted:edge-pair",
        "ecmp@xor:addresses",
    ]  # fmt: skip
    assert len({job.folder for job in planned}) == 5


@pytest.mark.parametrize(
    ("hash", "says"), [("md5:5-tuple", "there is no hash 'md5:5-tuple'"), ("salted:5-tuple", "has a salt for each")]
)
def test_a_hash_that_there_is_not_is_a_mistake(hash, says, tmp_path):
    options = (*SWEEP[:6], "ecmp-polarized", *SWEEP[7:], tmp_path / "results", "--hash", hash)
    assert_one_sentence(asked(*options), 2, says)
    assert not (tmp_path / "results").exists()


def test_every_combination_is_a_sweep_and_one_table_has_them_all(tmp_path, monkeypatch):
    done = []

    def carry_out(jobs, folder, where):
        for job in (job for job in jobs if not job.done):
            done.append((job.spec.link_mbps, job.spec.interval_s))
            job.folder.mkdir(parents=True)
            record.write(job.folder / "run.json", make_failed_run(job.spec, "not carried out"))
        return load_sweep(folder)

    monkeypatch.setattr("harness.sweep.carry_out_with_progress", carry_out)
    monkeypatch.setattr(library, "carrier_for", lambda *asked, **named: nullcontext())
    command = (*SWEEP, tmp_path, "--name", "mine", "--vary", "bw=5,10", "--vary")
    assert asked(*command, "interval=1").returncode == 1, "its runs failed"
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
    ("values", "told"),
    [
        ("topology=leaf-spine:4,2,4,leaf-spine:2,2,8", ["leaf-spine:4,2,4", "leaf-spine:2,2,8"]),
        ("oversubscribe=2,4", [2, 4]),
        ("seed=1,7", [1, 7]),
        ("seconds=5,6.5", [5, 6.5]),
        ("fail=link:0_2_1-4_1_1@1,switch:4_1_1@2:3", [("link:0_2_1-4_1_1@1",), ("switch:4_1_1@2:3",)]),
    ],
)
def test_a_network_a_seed_and_a_failure_vary_as_well(planned, tmp_path, values, told, monkeypatch):
    name = values.partition("=")[0]
    monkeypatch.setattr("plots.compare_sweeps.VariedSweep.write", lambda self: [self.folder])
    assert asked(*SWEEP, tmp_path, "--vary", values).returncode == 0
    assert [getattr(job.spec, name) for job in planned] == told


def test_all_schemes_of_another_network_are_those_that_it_can_have(planned, tmp_path):
    found = asked(*SWEEP, tmp_path, "--schemes", "all", "--topology", "leaf-spine:4,2,4")
    assert found.returncode == 0
    schemes = {job.spec.scheme for job in planned}
    assert {"nonblocking", "ecmp", "hedera-sa"} < schemes
    assert "spanning-tree" not in schemes
    assert "spanning-tree" in found.stderr


def test_the_guests_tcps_are_their_kernels():
    config = (Path(virtual.kernel.__file__).parent / "linux.config").read_text()
    names = [name.lower() for name in re.findall("^CONFIG_TCP_CONG_([A-Z]+)=y$", config, re.MULTILINE)]
    assert {*GUESTS_TCP} == {"reno", *names} - {"advanced"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("bw=5,0", "--bw"),
        ("bw=ten", "'ten'"),
        ("colour=red", "colour"),
        ("scheme=ecmp", "scheme"),
        ("k=4,5", "-k"),
        ("topology=leaf-spine:4,2,4,star", "'star'"),
        ("fail=link:0_2_1-4_1_1@9", "outside the run"),
        ("seed=", "OPTION=VALUE"),
    ],
)
def test_a_bad_value_is_one_sentence_before_anything_is_run(planned, tmp_path, values, words):
    assert_one_sentence(asked(*SWEEP, tmp_path, "--vary", values), 2, words)
    assert planned == []
    assert list(tmp_path.iterdir()) == []
