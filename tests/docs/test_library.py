"""The page of the library: its examples run, and return what the commands return."""

import re
from pathlib import Path

import pytest

import hedera_harness
from harness.errors import UserMistake
from tests.harness.test_cli import ROOT

EXAMPLES = re.findall(r"```python\n(import hedera_harness.*?)```", (ROOT / "docs/library.md").read_text(), re.DOTALL)


def test_the_simulation(capsys):
    names = {}
    exec(EXAMPLES[0], names)
    found, flows = names["found"], names["flows"]
    assert flows.mbps.sum() == pytest.approx(found.bisection_mbps, rel=1e-3)
    assert names["everything"]["bisection_mbps"] == pytest.approx(found.bisection_mbps, abs=1e-3)
    assert capsys.readouterr().out.startswith(f"{found.bisection_mbps} 1600")
    with pytest.raises(UserMistake, match="--colour"):
        hedera_harness.simulate("ecmp", "stride:4", colour=1)
    with pytest.raises(AttributeError):
        _ = hedera_harness.fly


@pytest.mark.virtual
@pytest.mark.root
def test_the_run_and_the_sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in EXAMPLES[1:]:
        exec(example, names)
    assert names["run"].valid, names["run"].reasons
    assert len(names["run"].to_frame()) == 16
    assert Path("mine/run.json").is_file()
    table = names["table"]
    assert table.groupby(["bw", "scheme"]).size().to_dict() == dict.fromkeys(
        [(bw, scheme) for bw in (5, 10) for scheme in ("ecmp", "nonblocking")], 1
    )
    assert (names["swept"].folder / "summary.csv").is_file()
