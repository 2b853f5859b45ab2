"""`hedera collective`."""

import pytest

from paper import collective
from tests.paper.commands import run
from traffic.goal import read_goal


def test_a_collective_is_written_for_other_simulators(tmp_path):
    out = tmp_path / "ring.goal"
    done = run(collective, "export", "--traffic", "ring:4,1000", "--repeats", "2", out)
    assert done.exit_code == 0, done.output
    assert done.output == f"192 flows between 16 hosts written to {out}\n"
    assert (~read_goal(out).computes).sum() == 192
    done = run(collective, "export", "--traffic", f"goal:{out}", tmp_path / "ring.cm")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "ring.cm").read_text().startswith("Nodes 16\nConnections ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--traffic", "stride:4", "x.goal"], "'stride:4' is no collective"),
        (["--traffic", "ring:4,1000", "x.txt"], "x.txt ends in neither of .goal .cm"),
        (["--traffic", "ring:4,1000", "--compute", "1", "x.cm"], "computes or waits for a time"),
        (["--traffic", "goal:nowhere", "x.cm"], "nowhere"),
    ],
)
def test_what_cannot_be_written_is_told_in_one_sentence(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(collective, "export", *arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert not list(tmp_path.iterdir())
