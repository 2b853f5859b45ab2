"""What HULL's parameters trade: each point beside what is published of it, and its range over the seeds."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from packets import suites
from packets.cli import hull
from packets.parameters import Parameters
from packets.suites import METRICS, VALUES, Suite, points
from results.output import read_csv
from tests.packets.test_run import result


@pytest.fixture
def asked(monkeypatch):
    """The experiments that are asked for; instead of running, each gives numbers made of its seed."""
    wanted = []

    def answer(label, experiments, *_):
        wanted.extend(experiments)
        times = ("queue_us", "small_us", "large_ms")
        return [
            result(**{n: np.array([each.seed * s]) for n, s in zip(times, (10.0, 40.0, 190.0), strict=True)})
            for each in experiments
        ]

    monkeypatch.setattr(suites, "run_many", answer)
    return wanted


def test_every_parameter_is_varied_alone_around_its_default(asked, tmp_path):
    found = points(Suite(Parameters(), 2, tmp_path, share=0.1), 0.2)
    assert list(dict.fromkeys((point["parameter"], point["value"]) for point in found)) == [
        (name, value) for name, values in VALUES.items() for value in values
    ]
    assert {each.seconds for each in asked} == {15.0}
    default = Parameters()
    for name, values in VALUES.items():
        assert getattr(default, name) in values
    for each in asked:
        changed = [name for name in VALUES if getattr(each.parameters, name) != getattr(default, name)]
        assert len(changed) <= 1


def test_a_point_knows_its_seeds_and_what_is_published_of_it(asked, tmp_path):
    made = points(Suite(Parameters(), 3, tmp_path), 0.2)
    found = {tuple(point[n] for n in ("parameter", "value", "metric", "statistic")): point for point in made}
    default = found["drain", 0.95, "switch_latency_us", "mean"]
    assert [default[name] for name in ("ours", "lowest", "highest", "seeds")] == [20, 10, 30, 3]
    assert default["published"] == found["beta", 16.0, "switch_latency_us", "mean"]["published"] == 0.3
    assert found["phantom_kb", 1.5, "fct_900B_us", "p99"]["published"] == 362.2
    assert found["drain", 0.99, "switch_latency_us", "mean"]["published"] is None


@pytest.mark.usefixtures("asked")
def test_it_is_told_as_a_table_as_json_as_csv_and_as_a_picture(tmp_path):
    arguments = ["sensitivity", "--seeds", "2", "--out", str(tmp_path), "--results", str(tmp_path)]
    words = CliRunner().invoke(hull, arguments)
    assert words.exit_code == 0, words.output
    assert "--phantom 1.5KB" in words.output
    answer = CliRunner().invoke(hull, [*arguments, "--json"])
    rows = json.loads(answer.stdout)["rows"]
    assert len(rows) == len(METRICS) * sum(map(len, VALUES.values()))
    kept = read_csv(tmp_path / "sensitivity.csv")
    assert [float(row["highest"]) for row in kept] == [row["highest"] for row in rows]
    assert (tmp_path / "sensitivity.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("asked")
def test_quick_leaves_the_sample_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(hull, ["sensitivity", "--quick"]).exit_code == 0
    assert {path.name for path in tmp_path.rglob("sensitivity.*")} == {"sensitivity.csv", "sensitivity.png"}
    assert not (tmp_path / "results" / "hull").exists()
