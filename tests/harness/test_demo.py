"""The first look: what `hedera demo` and `./test.sh --demo` run, and what they leave."""

import csv

import msgspec
import pytest

from harness.cli import run
from record import run as record
from record.errors import UnfitMachine
from tests.commands import PROJECT, asked, hedera
from virtual import kernel


def test_it_is_one_pattern_under_the_control_ecmp_and_hedera(planned, tmp_path):
    done = asked("demo", "--time", "virtual", "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    told = [(job.spec.scheme, job.spec.traffic, job.spec.seconds, job.spec.seed) for job in planned]
    assert told == [(scheme, "published:stride4", run.SECONDS, 1) for scheme in ("nonblocking", "ecmp", "hedera-sa")]
    picture = planned.folder / "figures" / "figure9.png"
    assert done.stdout == f"the picture: {picture}\n"
    assert asked("demo", "--time", "virtual", "--results", tmp_path, "--seed", 2).returncode == 0
    assert planned.folder.name == "demo-virtual-seed2", "unlike runs are not mixed"


def payloads(path):
    with path.open() as file:
        return {row["scheme"]: float(row["median_payload_mbps"]) for row in csv.DictReader(file)}


@pytest.mark.virtual
@pytest.mark.root
def test_root_s_test_sh_makes_a_table_and_a_picture_in_a_minute_or_two(tmp_path):
    try:
        kernel.find_kernel(print)
    except UnfitMachine as reason:
        pytest.skip(str(reason))
    done = hedera("demo", "--time", "virtual", "--results", tmp_path / "runs", cwd=PROJECT)
    assert done.returncode == 0, done.stderr
    figures = tmp_path / "runs" / "demo-virtual" / "figures"
    assert (figures / "figure9.png").stat().st_size > 10_000
    assert done.stdout.endswith(f"the picture: {figures / 'figure9.png'}\n")
    kept, fresh = payloads(PROJECT / "results/demo/summary.csv"), payloads(figures / "summary.csv")
    moves = {"nonblocking": 1, "ecmp": 4, "hedera-sa": 6}  # docs/notes/virtual-time.md: 0.01, 2.9, 4.9 on one machine
    assert all(abs(fresh[scheme] - kept[scheme]) < most for scheme, most in moves.items()), fresh
    sweep = tmp_path / "runs" / "demo-virtual"
    touched, bare = (sweep / "published_stride4" / scheme / "trial-1" for scheme in ("ecmp", "hedera-sa"))
    before = {path: path.read_bytes() for path in sweep.glob("*/*/*/run.json")}
    record.write(touched / "run.json", msgspec.structs.replace(record.read(touched / "run.json"), bisection_mbps=1.0))
    (bare / "seen.json").unlink()
    done = hedera("report", "--judge", sweep)
    assert (done.returncode, {path: path.read_bytes() for path in before}) == (0, before), "judged as it was"
    assert "judged again: 2 runs; 0 have another verdict, 1 were written anew" in done.stdout
