"""The commands: sentences for people, one object for programs, and an exit status for both."""

import json

import pytest
from click.testing import CliRunner

from record.output import read_csv
from studies.hull.build import NotInstalled
from studies.hull.cli import hull
from tests.studies.hull.scenes import scene


def call(*arguments):
    return CliRunner().invoke(hull, [str(each) for each in arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--scheme", "hul", "--workload", "dynamic"], "no scheme 'hul'"),
        (["run", "--scheme", "hull", "--workload", "static", "--link-delay", "5kg"], "'5kg' is not a number"),
        (["figure", "1", "--drain", "0"], "--drain must be at least 0.01"),
        (["table", "2", "--seeds", "0"], "seeds"),
        (["figure", "3"], "No such command"),
    ],
)
def test_wrong_use_is_answered_in_words_and_with_status_2(arguments, words):
    answer = call(*arguments)
    assert answer.exit_code == 2
    assert words in answer.output
    assert "Traceback" not in answer.output


def test_a_machine_without_ns3_is_told_what_to_install(monkeypatch, tmp_path):
    def missing(*_):
        raise NotInstalled("the packet simulator needs ns-3: run setup/install.sh --packets")

    monkeypatch.setattr("studies.hull.run.fingerprint", missing)
    monkeypatch.setattr("studies.hull.run.engine", missing)
    for arguments in (
        ["run", "--scheme", "hull", "--workload", "static", "--results", tmp_path],
        ["table", "2", "--quick", "--results", tmp_path, "--out", tmp_path],
    ):
        answer = call(*arguments)
        assert answer.exit_code == 3
        assert "setup/install.sh --packets" in answer.output


@pytest.mark.usefixtures("built")
def test_a_run_in_words_and_as_json(tmp_path):
    arguments = ["run", "--scheme", "hull", "--workload", "dynamic", "--seconds", 0.5, "--load", 0.3]
    words = call(*arguments, "--results", tmp_path)
    assert words.exit_code == 0
    assert "900-byte files complete in" in words.output
    found = json.loads(call(*arguments, "--results", tmp_path, "--json").stdout)
    assert found["verdict"] == "ok"
    assert found["fct_900B_us_mean"] > 37.6
    assert found["seeds"] == 1
    several = json.loads(call(*arguments, "--results", tmp_path, "--json", "--seeds", 2, "--jobs", 1).stdout)
    assert several["fct_900B_us_samples"] > found["fct_900B_us_samples"]


@pytest.mark.usefixtures("built")
def test_table_2_as_json_csv_and_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.hull.cli.QUICK_SHARE", 0.012)
    arguments = ["--quick", "--seeds", 1, "--jobs", 2, "--results", tmp_path, "--out", tmp_path, "--json"]
    answer = call("table", 2, *arguments)
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert len(rows) == 2 * 3 * 3 * 4 * 2  # variants, metrics, loads, schemes, statistics
    wanted = 20, "reproduction", "hull", "fct_900B_us"
    row = next(r for r in rows if tuple(map(r.get, ("load_percent", "variant", "scheme", "metric"))) == wanted)
    assert row["published"] == 40.3
    assert row["ours"] == pytest.approx(40, rel=0.3)
    assert [r["scheme"] for r in read_csv(tmp_path / "table2.csv")] == [r["scheme"] for r in rows]
    assert (tmp_path / "table2.png").read_bytes().startswith(b"\x89PNG")
    # variants, metrics, statistics, other schemes, and of each the loads and their mean
    assert len(read_csv(tmp_path / "table2_reductions.csv")) == 2 * 3 * 2 * 3 * 4


@pytest.mark.usefixtures("built")
def test_one_scheme_one_variant_and_a_drain_rate_that_is_the_tables(tmp_path):
    """95 % is what Table I has, and static flows have 90 %, unless it is asked for."""
    arguments = ["--schemes", "hull", "--variants", "conforming", "--seeds", 1, "--quick", "--json"]
    answer = call("figure", 1, *arguments, "--drain", 0.95, "--results", tmp_path, "--out", tmp_path)
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert {(r["variant"], r["scheme"]) for r in rows} == {("conforming", "hull")}
    assert {r["published"] for r in rows} == {None}
    assert {path.name for path in tmp_path.glob("fig*")} == {"figure1b-drain95.csv", "figure1b-drain95.png"}


@pytest.mark.usefixtures("built")
def test_a_scenario_of_ones_own(tmp_path):
    def answer(text):
        (tmp_path / "mine.json").write_text(text, encoding="utf-8")
        return call("scenario", tmp_path / "mine.json")

    built = scene(exchanges=[(0, 0, 100, 900)], seconds=0.01)
    found = json.loads(answer(json.dumps(built)).stdout)
    assert found["unfinished"] == 0
    assert found["arrays"]["client_received_bytes"] == [900]
    built["links"][0]["to"] = "nowhere"
    refused = answer(json.dumps(built))
    assert refused.exit_code == 2
    assert "nowhere, which is no node of the scenario" in refused.output
    assert "is not JSON" in answer("{").output


@pytest.mark.usefixtures("built")
def test_a_run_that_cannot_be_kept_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.hull.run.run", lambda *_: pytest.fail("ran in vain"))
    (tmp_path / "file").touch()
    answer = call("run", "--scheme", "hull", "--workload", "static", "--results", tmp_path / "file")
    assert answer.exit_code == 1
    assert "file" in answer.output
    assert "Traceback" not in answer.output
