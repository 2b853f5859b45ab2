"""Where packets wait, against sums by hand."""

import json

import pytest
from click.testing import CliRunner

from record.output import read_csv
from studies.hull.report import hull
from tests.plots.sweeps import run_document, store

HULL = {"congestion_control": "dctcp", "phantom": "0.95:2500", "pacer": "front", "time": "virtual"}
MOMENTS = (4.0, 10.0, 20.0)
"""The first is before the window of 5 to 25 s begins."""


def traced(folder, scheme, queues, settings=None):
    """Three seeds with curves: ``queues`` has a line for each moment in the window."""
    for trial in (1, 2, 3):
        file = store(folder, run_document("stride:4", scheme, trial, settings=settings))
        connections = "".join(f"{t:.4f},0,4,20001,9,1.0\n" for t in MOMENTS)
        (file.parent / "connections.csv").write_text("t,src,dst,src_port,window_segments,rtt_ms\n" + connections)
        lines = "4.0000,0_0_2-eth0,99999\n" + queues.format(trial=trial)
        (file.parent / "queues.csv").write_text("t,port,bytes\n" + lines)
    return folder


def told(*arguments):
    return CliRunner().invoke(hull, ["waiting", *map(str, arguments)])


def test_bytes_become_time_by_place(tmp_path):
    queues = "10.0000,0_0_2-eth0,{trial}0000\n10.0000,0_0_1-eth1,1250\n20.0000,0_0_1-eth2,2500\n"
    tree = traced(tmp_path / "tree", "ecmp", queues + "10.0000,4_1_1-eth1,5000\n20.0000,0_2_1-eth1,5000\n", HULL)
    control = traced(tmp_path / "control", "nonblocking", queues)
    answer = told(tree, control, "--out", tmp_path / "out", "--json")
    assert answer.exit_code == 0, answer.output
    rows = {(row["tcp"], row["scheme"], row["place"]): row for row in json.loads(answer.stdout)["rows"]}
    ours = {place: row["wait_ms"] for (_, scheme, place), row in rows.items() if scheme == "ecmp"}
    # 10 Mb/s are 1,250 bytes/ms; two moments; 16 ports of each kind.
    assert ours == pytest.approx(
        {"its host": 0.5, "edge, up": 1 / 32, "aggregation, up": 4 / 32, "core": 4 / 32,
         "aggregation, down": 0, "edge, to the host": 2 / 32, "whole path": 0.5 + 11 / 32}
    )  # fmt: skip
    host = rows["dctcp + phantom queues, pacers", "ecmp", "its host"]
    assert (host["by_seed"], host["seeds"]) == ("0.25 0.5 0.75", 3)
    assert host["high"] == pytest.approx(0.5 + 4.303 * 0.25 / 3**0.5, abs=0.001)
    switch = {place: row["wait_ms"] for (_, scheme, place), row in rows.items() if scheme == "nonblocking"}
    assert switch == pytest.approx({"its host": 0.5, "edge, to the host": 3 / 32, "whole path": 0.5 + 3 / 32})
    assert len(read_csv(tmp_path / "out/waiting.csv")) == 10
    assert "edge, to the host" in told(tree, "--out", tmp_path / "out").output


def test_runs_without_curves_are_told(tmp_path):
    store(tmp_path / "plain", run_document("stride:4", "ecmp"))
    empty = traced(tmp_path / "empty", "ecmp", "")
    for file in empty.rglob("connections.csv"):
        file.write_text("t,src,dst,src_port,window_segments,rtt_ms\n")
    for folder, said in ((tmp_path / "plain", "make the runs with --trace"), (empty, "has no curves of its window")):
        answer = told(folder, "--out", tmp_path)
        assert answer.exit_code == 2
        assert said in answer.output
