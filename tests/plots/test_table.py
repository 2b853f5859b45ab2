import csv
import io

from plots.load import load_sweep
from plots.summary import COLUMNS
from plots.table import csv_text, show
from tests.plots.sweeps import WIRE, failed, run_document, store


def small_sweep(folder):
    for trial, rate in enumerate((150.0, 152.0, 154.0), 1):
        store(folder, run_document("published:stride4", "nonblocking", trial, bisection_mbps=rate))
        verdict = {"verdict": "invalid", "reasons": ["CPU, too busy"]} if trial == 2 else {}
        store(folder, run_document("published:stride4", "ecmp", trial, bisection_mbps=rate / 2, **verdict))
    store(folder, failed(traffic="file:/tmp/[a]|b.csv", scheme="ecmp", trial=1))
    return load_sweep(folder).runs


def test_the_tables_are_in_payload_as_the_picture_and_names_are_no_markup(tmp_path):
    runs = small_sweep(tmp_path)
    rows = [line.split() for line in show(runs).splitlines()]
    half = f"{76 / WIRE:.1f}"
    assert ["stride4", f"{152 / WIRE:.1f}", half, "50%", "(2", "of", "3),", "all", half, "50%"] in rows
    assert ["file:[a]|b.csv", "-", "INVALID"] in rows
    assert ["mean", "share", "100.0%", "(1)", "50.0%", "(1)"] in rows
    assert show([]) == "no runs"


def test_a_second_table_is_there_only_where_tries_were_left_out(tmp_path):
    """Of Hedera's two trials one was left out at first, and counts at the second try, the other is not judged."""
    for trial in (1, 2):
        store(tmp_path, run_document("stride:4", "nonblocking", trial, bisection_mbps=100.0))
    store(tmp_path, run_document("stride:4", "hedera-gff", 1, bisection_mbps=96.0), attempt="-again")
    sweep = load_sweep(tmp_path)
    assert "left out" not in show(sweep.runs, sweep.tries)
    slow = {"verdict": "invalid", "reasons": ["slow"]}
    store(tmp_path, run_document("stride:4", "hedera-gff", 1, bisection_mbps=80.0, **slow))
    short = {"verdict": "not judged", "reasons": ["too short"]}
    store(tmp_path, run_document("stride:4", "hedera-gff", 2, bisection_mbps=88.0, **short))
    sweep = load_sweep(tmp_path)
    words = ["hedera-gff", "1", "of", "2", "96.0%", "(1)", "3", "2", "88.0%", "(1)"]
    assert words in [row.split()[: len(words)] for row in show(sweep.runs, sweep.tries).splitlines()]
    bar = list(csv.DictReader(io.StringIO(csv_text(sweep.runs, sweep.tries))))[1]
    counts = [bar[name] for name in ("tries", "left_out_tries", "not_judged_trials", "invalid_trials")]
    assert counts == ["3", "2", "1", "0"]
    medians = [bar[name] for name in ("median_ratio", "all_median_ratio", "all_median_mbps")]
    assert medians == ["0.9600", "0.8800", "88.0000"]


def test_csv_holds_every_number(tmp_path):
    rows = list(csv.DictReader(io.StringIO(csv_text(small_sweep(tmp_path)))))
    assert tuple(rows[0]) == COLUMNS
    assert (rows[0]["capacity_mbps"], float(rows[0]["payload_capacity_mbps"])) == ("160", round(160 * 1448 / 1514, 4))
    assert float(rows[0]["median_payload_mbps"]) == round(152 / WIRE, 4)
    ecmp = rows[1]
    assert list(ecmp.values())[:4] == ["published:stride4", "ecmp", "2", "1"]
    assert (ecmp["median_mbps"], ecmp["median_ratio"]) == ("76.0000", "0.5000")
    assert (ecmp["invalid_median_mbps"], ecmp["reasons"]) == ("76.0000", "CPU, too busy")
    assert (rows[2]["median_mbps"], rows[2]["median_ratio"]) == ("", "")
    assert list(csv.DictReader(io.StringIO(csv_text([])))) == []
