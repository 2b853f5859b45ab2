"""`hedera compare`, on sweeps whose files the project's own writers made."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from harness.cli.report import compare
from harness.cli.run import run as run_command
from harness.jobs.carry_out import RESULT
from harness.sweep import TrafficSpec, keep_settings, plan
from plots.compare_sweeps import OF_THE_PATTERN
from plots.compare_sweeps import compare as compare_folders
from plots.comparison_page import draw_bars
from plots.style import name_option
from record.run import Settings, write
from record.spec import RunSpec
from tests.harness.jobs.made import result

BASE = RunSpec("ecmp", "stride:1", seconds=10, platform="os-ken")
PATTERNS = ("published:stride1", "published:stride2", "published:stride4")


def sweep(folder, rate=0.8, **settings):
    """A sweep as planned, in which the schemes reach so much of the control; less under a later pattern."""
    base = replace(BASE, **settings)
    folder.mkdir()
    keep_settings(base, folder)
    for job in plan(base, [TrafficSpec(p) for p in PATTERNS], ["nonblocking", "ecmp", "hedera-sa"], 1, folder):
        spec = job.spec
        share = 1.0 if spec.scheme == "nonblocking" else rate - 0.05 * PATTERNS.index(spec.traffic)
        mbps = spec.capacity_mbps * share
        job.folder.mkdir(parents=True)
        write(job.folder / RESULT, result(spec.for_its_traffic(), bisection_mbps=mbps, payload_mbps=0.9 * mbps))
    return folder


def test_json_is_rows_and_nothing_else(tmp_path):
    """Names of folders are no markup."""
    one = sweep(tmp_path / "[bold]x", link_mbps=25.0)
    other = sweep(tmp_path / "k4-100mbps", 0.78, link_mbps=100.0, mtu=9000)
    invalid = other / "published_stride4" / "ecmp" / "trial-1" / "run.json"
    invalid.write_text(json.dumps(json.loads(invalid.read_text()) | {"verdict": "invalid", "reasons": ["too slow"]}))
    done = CliRunner().invoke(compare, [str(one), str(other), "--json"])
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


def test_the_table_is_written_as_latex_with_its_conditions(tmp_path):
    folders = [
        sweep(tmp_path / name, rate, link_mbps=25.0, queue=queue)
        for name, rate, queue in (("a", 0.8, 50), ("b", 0.7, 10))
    ]
    done = CliRunner().invoke(compare, [*map(str, folders), "--format", "tex", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["compare.tex"], "no picture was asked for"
    text = (tmp_path / "out/compare.tex").read_text()
    told = ("-{}-bw 25", "Seeds: 1; emulator: ", "They differ in -{}-queue.")
    for words in (r"\toprule", *told, r"hedera-sa & a & 50"):
        assert words in text
    assert "-{}-sack" not in text, "what every run has by itself is not told"


def test_settings_are_named_as_on_the_command_line():
    known = {option for each in run_command.params for option in each.opts + each.secondary_opts}
    known |= {"--threshold", "--iterations", "--workload", "datapath", "sink"}  # what emulation has no option for
    names = [name for name in Settings.__struct_fields__ if name not in OF_THE_PATTERN]
    assert [name for name in names if name_option(name) not in known] == []


def test_a_page_and_pictures_of_two_sweeps(tmp_path):
    """What differs comes first; bars of both stand side by side, with the shares of the table."""
    one, other = sweep(tmp_path / "one"), sweep(tmp_path / "other", 0.7, mtu=9000)
    words = [one, other, "--html", "--format", "svg", "--out", tmp_path / "out"]
    done = CliRunner().invoke(compare, [*map(str, words), "--json"])
    assert done.exit_code == 0, done.output
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "compare.html", "compare.svg", "compare-differences.svg",
    }  # fmt: skip
    page = (tmp_path / "out" / "compare.html").read_text(encoding="utf-8")
    differing = page.index("<td>9000</td>")
    assert page.index("--mtu") < differing < page.index("Bars side by side")
    shares = [row["share"] for row in json.loads(done.stdout)["rows"]]
    assert all(f"{100 * share:.1f}" in page for share in shares)
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    comparison = compare_folders([one, other])
    figure = draw_bars(comparison)
    assert [axes.get_title() for axes in figure.axes] == ["ecmp", "hedera-sa"]
    assert sorted(patch.get_height() for patch in figure.axes[0].patches) == pytest.approx(
        sorted(comparison.paired[comparison.paired.scheme == "ecmp"].ratio)
    )
    assert [len(axes.patches) for axes in figure.axes] == [6, 6]


def test_without_them_it_writes_nothing(tmp_path):
    one, other = sweep(tmp_path / "one"), sweep(tmp_path / "other", 0.7)
    done = CliRunner().invoke(compare, [str(one), str(other), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert not (tmp_path / "out").exists()
