"""The page of the library: its examples run, and return what the commands return."""

import inspect
import re
from pathlib import Path

import pytest
from scipy.stats import ttest_rel

import hedera_harness
from record.errors import UserMistake
from record.spec import RunSpec
from simulator.config import Config
from tests.commands import PROJECT

TEXTS = re.findall(r"```python\n(.*?)```", (PROJECT / "docs/library.md").read_text(), re.DOTALL)
EXAMPLES = [text for text in TEXTS if "import hedera_harness" in text]


def names_of(example, folder):
    """What an example defines, run as a file, so that its classes have a source."""
    file, names = folder / "example.py", {}
    file.write_text(example)
    exec(compile(example, file, "exec"), names)
    return names


def test_the_simulation(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of(EXAMPLES[0], tmp_path)
    found, flows = names["found"], names["flows"]
    assert flows.mbps.sum() == pytest.approx(found.bisection_mbps, rel=1e-3)
    assert names["everything"]["bisection_mbps"] == pytest.approx(found.bisection_mbps, abs=1e-3)
    assert capsys.readouterr().out.startswith(f"{found.bisection_mbps} 1600")
    assert Path("rates.png").stat().st_size > 1000
    with pytest.raises(UserMistake, match="--colour"):
        hedera_harness.simulate("ecmp", "stride:4", colour=1)
    with pytest.raises(UserMistake, match="--bw"):
        hedera_harness.simulate("ecmp", "stride:4", bw="fast")
    with pytest.raises(AttributeError):
        _ = hedera_harness.fly


def test_differences_are_paired_by_seed_and_of_like_results_alone(tmp_path):
    found = names_of(EXAMPLES[1], tmp_path)["found"]
    row, over_all = hedera_harness.compare_schemes(found).to_dict("records")
    annealing, ecmp = ([result.bisection_mbps for result in found[begin : begin + 5]] for begin in (0, 5))
    reference = ttest_rel(annealing, ecmp)
    assert (row["scheme"], row["minus"], row["pattern"], row["trials"]) == ("hedera-sa", "ecmp", "randbij", 5)
    assert (row["from"], row["to"]) == pytest.approx(tuple(reference.confidence_interval(0.95)))
    assert {**over_all, "pattern": "randbij"} == row, "one pattern is all of them"
    with pytest.raises(UserMistake, match="differ in more than"):
        hedera_harness.compare_schemes([*found, hedera_harness.simulate("ecmp", "randbij", seconds=3, engine="maxmin")])
    with pytest.raises(UserMistake, match="two schemes"):
        hedera_harness.compare_schemes(found[:5])


def test_the_former_name_is_there_for_one_release_and_warns():
    with pytest.warns(DeprecationWarning, match="compare_schemes"):
        assert hedera_harness.differences is hedera_harness.compare_schemes


def test_a_class_and_a_list_of_flows_are_arguments(tmp_path):
    """Large flows go by the core that the class says; one ends before the first round, as its start and size say."""
    found = names_of(EXAMPLES[2], tmp_path)["found"]
    assert found.to_frame().core.tolist()[:2] == [3, 3]
    assert found.size_bytes.tolist() == [float("inf"), float("inf"), 400_000]
    assert found.start_s.tolist() == [0, 0, 1.5]
    assert len(repr(found)) < 120
    with pytest.raises(UserMistake, match="Made"):
        hedera_harness.simulate(type("Made", (), {}), "stride:4")


def test_options_have_names_defaults_and_help():
    for function, owner in ((hedera_harness.run, RunSpec), (hedera_harness.simulate, Config)):
        parameters = inspect.signature(function).parameters
        assert parameters["bw"].default == owner.link_mbps
        assert "``bw``: Rate of every link, Mb/s" in function.__doc__


@pytest.mark.virtual
@pytest.mark.root
def test_the_run_and_the_sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, swept = (names_of(example, tmp_path) for example in EXAMPLES[3:])
    assert run["run"].valid, run["run"].reasons
    assert len(run["run"].to_frame()) == 16
    assert Path("mine/run.json").is_file()
    table = swept["table"]
    assert table.groupby(["bw", "scheme"]).size().to_dict() == dict.fromkeys(
        [(bw, scheme) for bw in (5, 10) for scheme in ("ecmp", "nonblocking")], 1
    )
    assert (swept["swept"].folder / "summary.csv").is_file()
