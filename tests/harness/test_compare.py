"""`hedera compare`, on sweeps whose files the project's own writers made."""

import json
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli.compare import compare
from harness.cli.run import run as run_command
from harness.jobs.store import RESULT
from harness.run.spec import RunSpec
from harness.sweep.plan import TrafficSpec, keep_settings, plan
from plots.load import load_sweep
from plots.sample import OF_THE_PATTERN, option_name
from plots.table import csv_text
from results.parts import Settings
from results.record import write
from tests.harness.jobs.made import result

BASE = RunSpec("ecmp", "stride:1", seconds=10, platform="os-ken")
PATTERNS = ("published:stride1", "published:stride2", "published:stride4")


def sweep(folder, rate=0.8, trials=1, **settings):
    """A sweep as planned, in which the schemes reach so much of the control; less under a later pattern."""
    base = replace(BASE, **settings)
    folder.mkdir()
    keep_settings(base, folder)
    for job in plan(base, [TrafficSpec(p) for p in PATTERNS], ["nonblocking", "ecmp", "hedera-sa"], trials, folder):
        spec = job.spec
        share = 1.0 if spec.scheme == "nonblocking" else rate - 0.05 * PATTERNS.index(spec.traffic)
        mbps = spec.capacity_mbps * share
        job.folder.mkdir(parents=True)
        write(job.folder / RESULT, result(spec.for_its_traffic(), bisection_mbps=mbps, payload_mbps=0.9 * mbps))
    return folder


def invoked(*arguments):
    return CliRunner().invoke(compare, [str(each) for each in arguments])


@pytest.fixture
def folders(tmp_path):
    """Names of folders are no markup."""
    a = sweep(tmp_path / "[bold]x", link_mbps=25.0)
    return a, sweep(tmp_path / "k4-100mbps", 0.78, link_mbps=100.0, mtu=9000)


def test_the_table(folders):
    done = invoked(*folders)
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["ecmp", "[bold]x", "25", "1500", "3", "3", "75.0"] in lines
    assert ["k4-100mbps", "100", "9000", "3", "3", "73.0", "-2.0", "-2.0", "to", "-2.0", "-2.0", "stride1"] in lines
    assert "They differ in --bw, --mtu." in done.stdout
    assert "-k 4 --seconds 10" in done.stdout


def test_what_older_summaries_do_not_say_of_all_tries():
    results = Path(__file__).parents[2] / "results"
    done = invoked(results / "sample", results / "sample-100mbps")
    (line,) = (line.split() for line in done.stdout.splitlines() if line.split()[:2] == ["ecmp", "sample"])
    assert line[-3:] == ["?", "0", "?"]


def test_by_pattern_all_tries_stand_beside_where_one_was_left_out(folders):
    first = folders[1] / "published_stride4" / "ecmp" / "trial-1" / "run.json"
    slow = {"verdict": "invalid", "reasons": ["too slow"]}
    document = json.loads(first.read_text())
    slow["bisection_mbps"] = document["bisection_mbps"] * 60 / 68
    before = first.parent.with_name("trial-1-0")
    before.mkdir()
    (before / "run.json").write_text(json.dumps(document | slow))
    done = invoked(*folders, "--by-pattern")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert "--bw 100 --mtu 9000" in done.stdout
    assert ["stride4", "70.0", "68.0", "(-2.0),", "all", "64.0"] in lines
    assert ["ecmp", "stride1", "80.0", "78.0", "(-2.0)"] in lines


def test_json_is_rows_and_nothing_else(folders):
    invalid = folders[1] / "published_stride4" / "ecmp" / "trial-1" / "run.json"
    invalid.write_text(json.dumps(json.loads(invalid.read_text()) | {"verdict": "invalid", "reasons": ["too slow"]}))
    done = invoked(*folders, "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [(row["scheme"], row["folder"], row["patterns"], row["invalid"]) for row in rows] == [
        ("ecmp", "[bold]x", 2, 0),
        ("ecmp", "k4-100mbps", 2, 1),
        ("hedera-sa", "[bold]x", 3, 0),
        ("hedera-sa", "k4-100mbps", 3, 0),
    ]
    assert rows[3]["conditions"] == {"--bw": 100.0, "--mtu": 9000}
    assert rows[3]["difference_points"] == pytest.approx(-2)
    assert "1 run is invalid" in done.stderr
    by_pattern = json.loads(invoked(*folders, "--json", "--by-pattern").stdout)["rows"]
    assert len(by_pattern) == 2 * 2 + 2 * 3


def test_a_published_summary_beside_a_sweep(folders, tmp_path):
    published = tmp_path / "published"
    published.mkdir()
    (published / "summary.csv").write_text(csv_text(load_sweep(folders[0]).runs))
    (published / "sweep.json").write_bytes((folders[0] / "sweep.json").read_bytes())
    done = invoked(published, folders[1])
    assert done.exit_code == 0, done.output
    assert "They differ in --bw, --mtu." in done.stdout
    assert "not matched by their seeds" in done.stdout
    assert "-2.0 to -2.0" in done.stdout
    again = invoked(published, folders[0])
    assert "They differ in no setting." in again.stdout


@pytest.mark.parametrize("given", [("a",), ("a", "nowhere"), ("a", "empty"), ("a", "a")])
def test_mistakes_are_one_sentence(tmp_path, given):
    sweep(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    done = CliRunner().invoke(compare, [str(tmp_path / name) for name in given], standalone_mode=False)
    assert isinstance(done.exception, click.UsageError)
    assert "\n" not in done.exception.message
    assert done.stdout == ""


def test_settings_are_named_as_on_the_command_line():
    known = {option for each in run_command.params for option in each.opts + each.secondary_opts}
    known |= {"--threshold", "--iterations", "--workload", "--datapath"}  # what emulation has no option for
    names = [name for name in Settings.__struct_fields__ if name not in OF_THE_PATTERN]
    assert [name for name in names if option_name(name) not in known] == []
