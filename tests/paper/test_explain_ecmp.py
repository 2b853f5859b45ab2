"""The published ECMP bars against four routings."""

from datetime import datetime, timezone

import pytest

from paper import explain_ecmp
from tests.paper.commands import is_png, rows, run, run_json
from workers.keys import make_keys


def test_it_compares_four_routings_and_two_engines(tmp_path):
    fits = run_json(explain_ecmp, "--seeds", 3, "--aimd-seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert len(fits) == len(rows(tmp_path / "explain_ecmp_fits.csv")) == 8
    best = min(fits, key=lambda row: row["mean_relative_error_percent"])
    assert best["routing"] == "spanning tree"
    assert len(rows(tmp_path / "explain_ecmp.csv")) == 8 * 20
    assert is_png(tmp_path / "explain_ecmp.png")


def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("workers.cluster.CONNECT_S", 0.5)
    make_keys(tmp_path / "keys", datetime.now(timezone.utc))
    done = run(
        explain_ecmp,
        "--seeds",
        1,
        "--aimd-seeds",
        1,
        "--cluster",
        "tls://127.0.0.1:9",
        "--keys",
        tmp_path / "keys",
        "--out",
        tmp_path,
    )
    assert done.exit_code == 1
    assert "Error: no Dask scheduler answers at tls://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
