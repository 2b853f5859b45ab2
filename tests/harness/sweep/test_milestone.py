"""The emulated milestone: points for what ECMP leaves of the control, and none given or taken by the machine."""

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from classroom.grading import Class
from classroom.relay import FOLDER, Relay
from classroom.template import write_template
from harness.cli.grade import grade
from harness.errors import UnfitMachine
from harness.run.spec import RunSpec
from harness.sweep import guests, milestone
from harness.sweep.milestone import Emulated, emulated, points
from hedera.linkstate import LinkState
from tests.classroom.test_answerer import TREE, code, flows
from virtual import kernel

ROOT = Path(__file__).parents[3]
CLASS = Class(917_264_350_918_273_645, 20.0)
MBPS = {"nonblocking": 1600.0, "ecmp": 800.0, milestone.OURS: 1400.0}


@pytest.fixture
def subs(tmp_path):
    for name, body in (
        ("ann", "return (flows.hashed + 1) % 4"),
        ("bob", "raise ValueError('mine')"),
        ("eve", None),
    ):
        (tmp_path / name).mkdir()
        if body is not None:
            (tmp_path / name / "scheduler.py").write_text(code(body).source)
    return [tmp_path / name for name in ("ann", "bob", "eve")]


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Runs that were asked for; one of a submission asks it once."""
    runs = []

    def run_in_guest(spec, folder, ground, hear, worker=None, beside=None):
        runs.append(spec)
        ok = True
        results = tmp_path / f"run{len(runs)}" / "out"
        results.mkdir(parents=True)
        with beside(results):
            if spec.scheme == milestone.OURS:
                try:
                    answer = Relay(TREE, None, None, results / FOLDER.name).place(flows(), LinkState(TREE))
                    assert np.array_equal(answer, [1] * 4)
                except RuntimeError:
                    ok = False
        mbps = MBPS[spec.scheme] if ok else None
        return SimpleNamespace(valid=ok, bisection_mbps=mbps, reasons=("it broke off",), scheme=spec.scheme)

    monkeypatch.setattr(guests, "prepare", lambda say: None)
    monkeypatch.setattr(guests, "run_in_guest", run_in_guest)
    monkeypatch.setattr(milestone, "resolve", lambda spec: spec)
    return runs


def test_points_are_for_what_ecmp_leaves_of_the_control():
    assert [points(share, 0.5) for share in (0.4, 0.5, 0.74, 0.76, 1.0)] == [0, 0, 5, 5, 10]
    assert points(1.0, 1.0) == 0


def test_each_has_its_share_and_what_misbehaves_has_none(subs, made):
    ann, bob, eve = emulated(subs, CLASS, print)
    assert (ann.points, ann.percent_of_control, ann.ecmp_percent_of_control, ann.rounds) == (8, 87.5, 50, 1)
    assert (bob.points, bob.percent_of_control) == (0, None)
    assert "it raises ValueError: mine" in bob.remarks
    assert (eve.points, eve.remarks) == (0, "scheduler.py cannot be read: No such file or directory")
    assert [spec.scheme for spec in made] == ["nonblocking", "ecmp", milestone.OURS, milestone.OURS]


def test_its_runs_are_real_specs_of_one_pattern_and_do_not_tell_the_seed(subs, made):
    list(emulated(subs[:1], CLASS, print))
    assert all(isinstance(spec, RunSpec) for spec in made)
    assert {(spec.traffic, spec.link_mbps, spec.time, spec.seed) for spec in made} == {
        ("randbij", 100.0, "virtual", made[0].seed)
    }
    assert made[0].seed not in (CLASS.seed, CLASS.seed % (1 << 24), CLASS.seed % (1 << 31))


def test_a_machine_without_virtual_time_grades_nobody_and_says_so(subs, made, monkeypatch):
    def none(say):
        raise UnfitMachine("virtual time: there is no kernel for it here")

    monkeypatch.setattr(guests, "prepare", none)
    rows = list(emulated(subs, CLASS, print))
    assert [(row.points, row.percent_of_control) for row in rows] == [(None, None)] * 3
    assert {row.remarks for row in rows} == {"not graded: virtual time: there is no kernel for it here"}


@pytest.mark.virtual
@pytest.mark.timeout(1800)
def test_one_submission_handed_in_twice_has_the_same_points(tmp_path):
    kernel.kernel(print)
    own = (ROOT / "docs/examples/least_loaded.py").read_text().replace("LeastLoaded", "Scheduler")
    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scheduler.py").write_text(own)
    ann, bob = emulated([tmp_path / "ann", tmp_path / "bob"], Class(99, 120.0), print)
    assert (ann.remarks, bob.remarks) == ("", "")
    assert ann.rounds == bob.rounds > 2
    assert ann.points == bob.points > 5
    assert abs(ann.percent_of_control - bob.percent_of_control) < 2


@pytest.mark.parametrize("scheme", ["ecmp", milestone.OURS])
def test_a_run_that_is_not_valid_is_nobody_s_zero(subs, made, monkeypatch, scheme):
    real = guests.run_in_guest

    def invalid(spec, *others, **named):
        run = real(spec, *others, **named)
        return SimpleNamespace(**vars(run) | {"valid": run.valid and spec.scheme != scheme})

    monkeypatch.setattr(guests, "run_in_guest", invalid)
    (row,) = emulated(subs[:1], CLASS, print)
    assert row.points is None
    assert row.remarks.startswith("not graded: a run under ")
    assert row.remarks.endswith("was not valid: it broke off")


def test_the_command_writes_what_came_of_each(tmp_path, monkeypatch):
    write_template(tmp_path / "loop.py", "loop")
    told = [
        Emulated("ann", 8, 87.5, 50.0, 5, ""),
        Emulated("bob", None, None, None, 0, "not graded: no kernel"),
    ]
    monkeypatch.setattr(milestone, "emulated", lambda found, course, say: iter(told))
    words = [str(tmp_path), "--seed", "7", "--unprotected", "--emulate", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(grade, words)
    assert done.exit_code == 0, done.output
    assert "emulated: ann: 8 points, 87.5 % of the control\n" in done.output
    assert "emulated: bob: not graded: no kernel\n" in done.output
    with (tmp_path / "out" / "emulated.csv").open() as file:
        assert [(row["submission"], row["points"]) for row in csv.DictReader(file)] == [
            ("ann", "8"),
            ("bob", ""),
        ]
    again = CliRunner().invoke(grade, [*words, "--json"])
    assert [row["points"] for row in json.loads(again.stdout)["emulated"]] == [8, None]
