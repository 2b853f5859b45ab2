import pytest
from click.testing import CliRunner

from harness.cli.group import cli
from record.output import read_csv as rows
from studies.hifi import buffers, dctcp
from tests.studies.hifi.made import seen


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The command, with guests in which every queue is full of 20 frames and every link busy."""
    monkeypatch.chdir(tmp_path)
    for module in (dctcp, buffers):
        monkeypatch.setattr(module, "played", lambda scenes: [seen(one, [20, 20, 20]) for one in scenes])

    def run(*words):
        return CliRunner().invoke(cli, ["hifi", *words, "--out", "out"], catch_exceptions=False)

    return run


def test_dctcp_writes_rows_quantiles_and_a_picture(told, tmp_path):
    done = told("dctcp", "--seeds", "2")
    assert done.exit_code == 0
    assert "Mininet-HiFi" in done.output
    assert len(rows(tmp_path / "out/dctcp.csv")) == 4
    assert len(rows(tmp_path / "out/dctcp-queue.csv")) == 4 * 101
    assert (tmp_path / "out/dctcp.png").read_bytes().startswith(b"\x89PNG")


def test_buffers_quickly(told, tmp_path):
    done = told("buffers", "--quick")
    assert done.exit_code == 0
    found = rows(tmp_path / "out/least.csv")
    assert [(row["flows"], row["target"], row["least"]) for row in found] == [("10", "0.99", "2"), ("100", "0.99", "2")]
    assert (tmp_path / "out/buffers.png").read_bytes().startswith(b"\x89PNG")


def test_all_of_buffers_has_single_flows_and_appenzeller_s_cells(told, tmp_path):
    done = told("buffers", "--json")
    assert done.exit_code == 0
    links = [row["link"] for row in rows(tmp_path / "out/buffers.csv")]
    assert links.count("appenzeller") == 16
    assert "hifi" in links
