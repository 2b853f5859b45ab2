import json
import shutil
from pathlib import Path

import pytest

from plots.load import load_sweep
from plots.sample import read, read_csv
from plots.table import csv_text
from tests.plots.sweeps import failed, run_document, store

PUBLISHED = Path(__file__).parents[2] / "results" / "sample"
BAR = ("stride:4", "ecmp")


def write(folder, scheme="ecmp", trial=1, rate=50.0, traffic="stride:4", **changes):
    store(folder, run_document(traffic, scheme, trial, bisection_mbps=rate, **changes))


def invalid(folder, scheme="ecmp", trial=1):
    write(folder, scheme, trial, verdict="invalid", reasons=["too slow"])


@pytest.fixture
def folder(tmp_path):
    """Three trials with their control: 50, 60 and 80 % of it."""
    for trial, share in enumerate((50.0, 60.0, 80.0), 1):
        write(tmp_path, "nonblocking", trial, 100.0)
        write(tmp_path, "ecmp", trial, share)
    return tmp_path


def numbers(sample, trials=None, tried=None):
    """Share and runs; over all tries, share and left out; and how many trials do not count."""
    return tuple(sample.shares(trials, tried).loc[BAR][["share", "runs", "all_share", "left_out", "invalid"]])


def test_invalid_runs_and_those_without_a_control_do_not_count_and_are_said(folder):
    invalid(folder, "ecmp", 1)
    invalid(folder, "nonblocking", 3)
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    sample = read(folder, "mine")
    share, runs, _, left_out, uncounted = numbers(sample)
    assert (share, runs, left_out, uncounted) == (0.6, 1, 1, 1)
    assert sample.says(sample.bars.index, sample.trials - {(*BAR, 2)}) == [
        "mine: 2 runs are invalid, and never counted",
        "mine: 1 run is valid, but without a valid control of the same trial",
        "mine: 1 run is valid, but not of that seed in every folder",
        "mine: 1 run.json left out: is not JSON, or was cut off",
    ]


def test_all_tries_are_known_whatever_their_verdict(folder, tmp_path_factory):
    """Trial 2 was invalid at 20 % before it was valid; trial 4 was not judged, twice, at 10 and 30 %."""
    bad = {"verdict": "invalid", "reasons": ["too slow"]}
    none = {"verdict": "not judged", "reasons": ["too short"]}
    store(folder, run_document("stride:4", "ecmp", 2, bisection_mbps=20.0, **bad))
    store(folder, run_document("stride:4", "ecmp", 2, bisection_mbps=60.0), attempt="-again")
    write(folder, "nonblocking", 4, 100.0)
    write(folder, "ecmp", 4, 10.0, **none)
    store(folder, run_document("stride:4", "ecmp", 4, bisection_mbps=30.0, **none), attempt="-again")
    runs = read(folder, "runs")
    assert numbers(runs) == pytest.approx((0.6, 3, 0.4, 3, 1))  # of 10, 20, 30, 50, 60, 80
    fourth = {(*BAR, 4), ("stride:4", "nonblocking", 4)}
    assert numbers(runs, None, fourth)[2:4] == pytest.approx((0.2, 2))
    assert "runs: 1 run is not judged, and never counted" in runs.says({BAR}, None)
    sweep, other = load_sweep(folder), tmp_path_factory.mktemp("published")
    (other / "summary.csv").write_text(csv_text(sweep.runs, sweep.tries))
    shutil.copy(PUBLISHED / "sweep.json", other)
    assert numbers(read(other, "summary")) == pytest.approx(numbers(runs))


def test_settings_are_those_of_the_runs_of_the_bars(folder):
    spec = run_document()["spec"]
    write(folder, traffic="random", spec=spec | {"new_flows": "switch", "flows_per_host": 2})
    sample = read(folder, "mine")
    settings = sample.settings({BAR})
    assert (settings["link_mbps"], settings["mtu"], settings["new_flows"]) == (10.0, 1500, "controller")
    assert "flows_per_host" not in settings, "it is in the name of the pattern"
    assert sample.settings(sample.bars.index)["new_flows"] == "controller, switch"


def test_what_a_summary_leaves_open_is_no_setting(tmp_path):
    shutil.copy(PUBLISHED / "summary.csv", tmp_path)
    now = json.loads((PUBLISHED / "sweep.json").read_text()) | {"new_flows": "auto", "large_flows": "measured"}
    (tmp_path / "sweep.json").write_text(json.dumps(now))
    settings = read(tmp_path, "sample").settings(set())
    assert {"new_flows", "large_flows", "scale_sizes"} & set(settings) == {"large_flows"}


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ValueError, match="there is no results folder"):
        read(tmp_path / "nowhere", "")
    with pytest.raises(ValueError, match="has neither runs"):
        read(tmp_path, "")
    store(tmp_path, failed(traffic="stride:4", scheme="ecmp"))
    with pytest.raises(ValueError, match="no valid run of the control"):
        read(tmp_path, "")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("summary.csv", "", "no valid run of the control"),
        ("summary.csv", "pattern,scheme\nstride:4,ecmp\n", "summary.csv is not a summary of a sweep: .*valid_trials"),
        ("sweep.json", '{"k": 4', "sweep.json is not JSON"),
        ("sweep.json", "{}", "sweep.json is not a sweep.s settings: .*missing"),
        ("run.json", "{}", "no readable run: .*run.json is not a run of schema"),
    ],
)
def test_files_of_anybody_are_refused_with_the_reason(tmp_path, name, text, reason):
    for each in ("summary.csv", "sweep.json"):
        shutil.copy(PUBLISHED / each, tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=reason):
        read(tmp_path, "")


LINE = "stride:4,ecmp,3,0,"


@pytest.mark.parametrize(
    "bars",
    ["x", *(LINE + share for share in ("nan", "-1", "inf", "\x1b", f"1\n{LINE}1")), "\x1b,ecmp,3,0,1", "a" * 200_000],
)
def test_a_summary_of_anybody_is_refused_in_one_line(tmp_path, bars):
    path = tmp_path / "summary.csv"
    path.write_text(f"pattern,scheme,valid_trials,invalid_trials,median_ratio\n{bars}\n")
    with pytest.raises(ValueError, match="is not a summary of a sweep") as refused:
        read_csv(path)
    assert str(refused.value).isprintable()
