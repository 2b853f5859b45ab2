from harness.verdict.judgement import of_soundness, of_speed
from plots.load import load_sweep
from plots.report.rules import MEANINGS, OF_SPEED, applied, required
from tests.harness.verdict.fine import FINE
from tests.plots.sweeps import run_document, store


def test_every_rule_of_the_verdict_has_a_meaning_here():
    speed = {check.rule.rule for check in of_speed(FINE)}
    assert speed <= set(OF_SPEED) <= set(MEANINGS)
    assert {check.rule.rule for check in of_soundness(FINE)} <= set(MEANINGS) - speed


def test_rules_are_counted_over_runs(tmp_path):
    for trial, (kept, found) in enumerate(((True, 0.98), (False, 0.91), (None, 0.95)), 1):
        rules = [{"rule": "full links", "kept": kept, "found": found, "least": 0.97}]
        store(tmp_path, run_document(trial=trial, rules=rules))
    store(tmp_path, run_document(trial=4))
    runs = load_sweep(tmp_path).runs
    (row,) = applied(runs)
    assert [row[n] for n in ("kept", "broken", "not_applied", "limit", "least_found")] == [1, 1, 1, 0.97, 0.91]
    assert required(runs[0]) == [["full links", True, 0.98, "at least 0.97", ""]]
    assert required(runs[3]) == []
