from plots.load import load_sweep
from plots.report.environment import environment, machine, settings
from tests.plots.sweeps import run_document, store


def test_environments_that_differ_are_counted(tmp_path):
    for trial, kernel in ((1, "6.1"), (2, "6.1"), (3, "6.2")):
        store(tmp_path, run_document(trial=trial, environment={"kernel": kernel, "tools": {"iperf": "2.1"}, "x": None}))
    runs = load_sweep(tmp_path).runs
    assert environment(runs) == [
        ("kernel", [("6.1", 2), ("6.2", 1)]),
        ("tools: iperf", [("2.1", 3)]),
        ("x", [("none", 3)]),
    ]
    assert dict(settings(runs))["--bw"] == "10"


def test_the_machine_says_only_what_was_stored(tmp_path):
    store(tmp_path, run_document(environment={"cores": 2, "revision": "abc"}, started="2026-03-01T10:00:00Z"))
    runs = load_sweep(tmp_path).runs
    assert machine(runs) == "revision abc of this project"


def test_a_sweep_of_several_revisions_names_them_all(tmp_path):
    for trial, revision in ((1, "def"), (2, "abc"), (3, "def")):
        store(tmp_path, run_document(trial=trial, environment={"revision": revision}))
    runs = load_sweep(tmp_path).runs
    assert machine(runs) == "revisions abc, def of this project"
