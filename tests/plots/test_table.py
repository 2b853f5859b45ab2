import csv
import io

import pytest

from plots.load import load_sweep
from plots.table import CSV_COLUMNS, Line, csv_text, markdown, read_csv, show
from tests.plots.sweeps import WIRE, failed, run_document, store


def small_sweep(folder):
    for trial, rate in enumerate((150.0, 152.0, 154.0), 1):
        store(folder, run_document("published:stride4", "nonblocking", trial, bisection_mbps=rate))
        verdict = {"verdict": "invalid", "reasons": ["CPU, too busy"]} if trial == 2 else {}
        store(folder, run_document("published:stride4", "ecmp", trial, bisection_mbps=rate / 2, **verdict))
    store(folder, failed(traffic="file:/tmp/[a]|b.csv", scheme="ecmp", trial=1))
    return load_sweep(folder).runs


def test_show(tmp_path):
    text = show(small_sweep(tmp_path))
    rows = [line.split() for line in text.splitlines()]
    assert ["stride4", "152.0", "76.0", "50%", "(2", "of", "3),", "all", "76.0", "50%"] in rows
    assert ["file:[a]|b.csv", "-", "INVALID"] in rows
    assert "Capacity 160 Mb/s" in text
    assert show([]) == "no runs"


def test_every_scheme_has_a_second_column_over_all_tries(tmp_path):
    """Of Hedera's two trials one was left out at first, and counts at the second try, the other is not judged."""
    slow = {"verdict": "invalid", "reasons": ["slow"]}
    for trial in (1, 2):
        store(tmp_path, run_document("stride:4", "nonblocking", trial, bisection_mbps=100.0))
    store(tmp_path, run_document("stride:4", "hedera-gff", 1, bisection_mbps=80.0, **slow))
    store(tmp_path, run_document("stride:4", "hedera-gff", 1, bisection_mbps=96.0), attempt="-again")
    short = {"verdict": "not judged", "reasons": ["too short"]}
    store(tmp_path, run_document("stride:4", "hedera-gff", 2, bisection_mbps=88.0, **short))
    sweep = load_sweep(tmp_path)
    line = ["hedera-gff", "1 of 2", "96.0% (1)", "3", "2", "88.0% (1)"]
    told = [row.split("|") for row in markdown(sweep.runs, sweep.tries).splitlines()]
    assert line in [[cell.strip() for cell in row[1:7]] for row in told]
    words = " ".join(line).split()
    assert words in [row.split()[: len(words)] for row in show(sweep.runs, sweep.tries).splitlines()]
    bar = list(csv.DictReader(io.StringIO(csv_text(sweep.runs, sweep.tries))))[1]
    assert (bar["tries"], bar["left_out_tries"], bar["not_judged_trials"], bar["invalid_trials"]) == (
        "3",
        "2",
        "1",
        "0",
    )
    assert (bar["median_ratio"], bar["all_median_ratio"], bar["all_median_mbps"]) == (
        "0.9600",
        "0.8800",
        "88.0000",
    )


def test_a_bar_that_is_invalid_says_what_its_tries_came_to(tmp_path):
    store(tmp_path, run_document("stride:4", "nonblocking", bisection_mbps=100.0))
    store(tmp_path, run_document("stride:4", "ecmp", bisection_mbps=60.0, verdict="invalid", reasons=["slow"]))
    runs = load_sweep(tmp_path).runs
    assert markdown(runs).splitlines()[2] == "| stride:4 | 100.0 | INVALID, all 60.0 60% |"


def test_the_tables_say_in_how_many_patterns_the_gain_is_certain_and_what_few_trials_are(tmp_path):
    for scheme, level in (("nonblocking", 100.0), ("ecmp", 50.0), ("hedera-sa", 90.0)):
        for trial in (1, 2, 3):
            store(tmp_path, run_document("stride:4", scheme, trial, bisection_mbps=level + trial))
    sweep = load_sweep(tmp_path)
    said = "hedera-sa in 1 of 1 patterns, below in 0 (over all tries 1 and 0 of 1)."
    assert said in show(sweep.runs, sweep.tries)
    text = markdown(sweep.runs, sweep.tries)
    assert said in text
    assert "which of 3 trials are nearly the least and the most" in text


def test_a_bar_that_was_not_judged_is_not_called_invalid(tmp_path):
    unjudged = {"verdict": "not judged", "reasons": ["too short"]}
    slow = {"verdict": "invalid", "reasons": ["too slow"]}
    store(tmp_path, run_document("stride:4", "ecmp", bisection_mbps=60.0, **unjudged))
    assert ["stride:4", "NOT", "JUDGED,", "all", "60.0"] in [
        row.split() for row in show(load_sweep(tmp_path).runs).splitlines()
    ]
    store(tmp_path, run_document("stride:4", "ecmp", 2, bisection_mbps=60.0, **slow))
    assert ["stride:4", "INVALID,", "all", "60.0"] in [
        row.split() for row in show(load_sweep(tmp_path).runs).splitlines()
    ]


def test_markdown(tmp_path):
    lines = markdown(small_sweep(tmp_path)).splitlines()
    assert lines[0] == "| pattern | nonblocking | ecmp |"
    assert lines[2] == "| stride4 | 152.0 (150.2-153.8) | 76.0 (75.1-76.9) 50% (2 of 3), all 76.0 50% |"
    assert lines[3] == "| file:[a]\\|b.csv | - | INVALID |"


def test_csv_holds_every_number(tmp_path):
    rows = list(csv.DictReader(io.StringIO(csv_text(small_sweep(tmp_path)))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert (rows[0]["capacity_mbps"], float(rows[0]["payload_capacity_mbps"])) == (
        "160",
        round(160 * 1448 / 1514, 4),
    )
    assert float(rows[0]["median_payload_mbps"]) == round(152 / WIRE, 4)
    ecmp = rows[1]
    assert (ecmp["pattern"], ecmp["scheme"], ecmp["valid_trials"], ecmp["invalid_trials"]) == (
        "published:stride4",
        "ecmp",
        "2",
        "1",
    )
    assert (ecmp["median_mbps"], ecmp["median_ratio"]) == ("76.0000", "0.5000")
    assert (ecmp["invalid_median_mbps"], ecmp["reasons"]) == ("76.0000", "CPU, too busy")
    assert (rows[2]["median_mbps"], rows[2]["median_ratio"]) == ("", "")
    assert list(csv.DictReader(io.StringIO(csv_text([])))) == []


def test_what_is_written_is_read_back(tmp_path):
    runs = small_sweep(tmp_path)
    path = tmp_path / "summary.csv"
    path.write_text(csv_text(runs))
    lines = read_csv(path)
    assert lines[1] == Line(
        pattern="published:stride4",
        scheme="ecmp",
        valid_trials=2,
        invalid_trials=1,
        median_ratio=0.5,
        left_out_tries=1,
        all_median_ratio=0.5,
    )
    assert lines[2] == Line(
        pattern="file:/tmp/[a]|b.csv", scheme="ecmp", valid_trials=0, invalid_trials=1, left_out_tries=1
    )


def test_a_summary_of_before_is_read_as_ever(tmp_path):
    path = tmp_path / "summary.csv"
    path.write_text("pattern,scheme,valid_trials,invalid_trials,median_ratio\nstride:4,ecmp,3,0,0.5\n")
    (line,) = read_csv(path)
    assert (line.median_ratio, line.not_judged_trials) == (0.5, 0)
    assert (line.left_out_tries, line.all_median_ratio) == (None, None)


def test_a_try_without_any_traffic_is_read_back(tmp_path):
    store(tmp_path, run_document("stride:4", "nonblocking", bisection_mbps=100.0))
    store(tmp_path, run_document("stride:4", "ecmp", bisection_mbps=0.0, verdict="invalid", reasons=["slow"]))
    path = tmp_path / "summary.csv"
    path.write_text(csv_text(load_sweep(tmp_path).runs))
    assert [line.all_median_ratio for line in read_csv(path)] == [1.0, 0.0]


BAR = "stride:4,ecmp,3,0,"


@pytest.mark.parametrize(
    "bars",
    [
        "x",
        BAR + "nan",
        BAR + "-1",
        BAR + "inf",
        BAR + "\x1b",
        "\x1b,ecmp,3,0,1",
        "a" * 200_000,
        BAR + "1\n" + BAR + "1",
    ],
)
def test_a_summary_of_anybody_is_refused_in_one_line(tmp_path, bars):
    path = tmp_path / "summary.csv"
    path.write_text(f"pattern,scheme,valid_trials,invalid_trials,median_ratio\n{bars}\n")
    with pytest.raises(ValueError, match="is not a summary of a sweep") as refused:
        read_csv(path)
    assert str(refused.value).isprintable()


def test_a_summary_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "summary.csv"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is not a summary of a sweep"):
        read_csv(path)
