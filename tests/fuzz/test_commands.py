"""Command lines that are nearly right: every one does its work, or ends with one sentence and the right status.

What would build a network, or simulate for minutes, is replaced by something that does nothing; the rest is real.
"""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli import group
from harness.run.experiment import failed_run
from tests.fuzz.mutations import FUZZ, NASTY, TRIED

NASTY_WORDS = [piece.decode(errors="replace").replace("\x00", "")[:3000] for piece in NASTY]
NUMBERS = [
    "0",
    "1",
    "4",
    "6",
    "8",
    "48",
    "-1",
    "3.5",
    "1e3",
    "1e308",
    "nan",
    "inf",
    "-0",
    "1_000",
    "99999999999999999999",
]
TRAFFIC = [
    "stride:4",
    "stride:0",
    "stride:99",
    "staggered:0.2,0.3",
    "staggered:1,1",
    "random",
    "randbij",
    "randx:3",
    "hotspot",
    "all-to-all",
    "shuffle:1000",
    "shuffle:0",
    "published:randbij0",
    "published:",
    "file:",
    "file:.",
    "file:flows.csv",
    "file:/dev/null",
    "file:../../pwned",
    "stride:1,stride:2",
    "stride:4 ",
]
FAULTS = [
    "link:0_2_1-4_1_1@2",
    "switch:4_1_1@1:3",
    "switch:0_0_1@nan",
    "link:0_0_1-0_0_2@2",
    "controller:kill@2",
    "controller:freeze@99",
    "link:@",
    "switch:0_0_1@1:2:3",
]
SCHEMES = ["ecmp", "hedera-gff", "nonblocking", "ecmp,ecmp", "all", "ECMP", ""]
NAMES = ["out", "a/b", "flows.csv", "pwned/../out", ".", "con", "-", "--", "a b", "$(x)", "é"]
OPTIONS = {
    "--scheme": SCHEMES,
    "--schemes": SCHEMES,
    "--traffic": TRAFFIC,
    "--patterns": TRAFFIC,
    "--suite": ["figure9"],
    "--fail": FAULTS,
    "--disturb": FAULTS,
    "--seconds": NUMBERS,
    "--bw": [*NUMBERS, "auto"],
    "-k": NUMBERS,
    "--seed": NUMBERS,
    "--interval": NUMBERS,
    "--queue": NUMBERS,
    "--flows-per-host": NUMBERS,
    "--keep": NUMBERS,
    "--platform": ["auto", "pox", "os-ken", "nox"],
    "--congestion-control": ["cubic", "reno", "../x"],
    "--name": [*NAMES, "../../pwned"],
    "--engine": ["aimd", "maxmin"],
    "--tick": NUMBERS,
    "--increase": NUMBERS,
    "--threshold": NUMBERS,
    "--iterations": NUMBERS,
    "--arrivals": NUMBERS,
    "--mean-size": NUMBERS,
    "--json": None,
    "--help": None,
}
START = {
    "run": ["run", "--scheme", "ecmp", "--traffic", "stride:4", "--seconds", "5", "--out", "out"],
    "sweep": ["sweep", "1", "5", "--patterns", "stride:4", "--schemes", "ecmp"],
    "simulate": ["simulate", "--scheme", "ecmp", "--traffic", "stride:4", "--seconds", "6"],
    "report": ["report", "flows"],
    "nothing": ["rnu"],
}


@st.composite
def command_lines(draw):
    words = list(START[draw(st.sampled_from(sorted(START)))])
    for _ in range(draw(st.integers(0, 4))):
        option = draw(st.sampled_from(sorted(OPTIONS)))
        values = OPTIONS[option]
        words.append(option)
        if values is not None and draw(st.integers(0, 9)):
            words.append(draw(st.sampled_from(values) | st.sampled_from(NASTY_WORDS) | st.text(max_size=12)))
    if draw(st.integers(0, 5)) == 0:
        place = draw(st.integers(0, len(words)))
        words.insert(place, draw(st.sampled_from(NASTY_WORDS) | st.text(max_size=12)))
    return [word.replace("\x00", "").encode("utf-8", "replace").decode() for word in words]


@pytest.fixture
def harmless(monkeypatch):
    """Nothing is built, measured or simulated for long; and who runs the test makes no difference."""

    def fake_run(spec, folder, say=None):
        spec.matrix()
        return failed_run(spec, "nothing was built")

    class Nothing:
        def __init__(self, config):
            if config.k > 8:
                raise ValueError("too large for this test")
            self.config = config
            real(config)

        def run(self, progress=None):
            raise ValueError("nothing is simulated")

    from simulator import driver

    real = driver.Simulation
    monkeypatch.setattr("harness.run.experiment.run_experiment", fake_run)
    monkeypatch.setattr("harness.sweep.progress.carry_out_with_progress", lambda jobs, folder, fleet=None: None)
    monkeypatch.setattr("harness.sweep.calibration.calibrate", lambda spec, say: 10.0)
    monkeypatch.setattr("harness.network.machine.require_root", lambda: None)
    monkeypatch.setattr("harness.network.machine.require_tools", lambda: None)
    monkeypatch.setattr(driver, "Simulation", Nothing)


def run():
    try:
        return group.run_cli()
    except SystemExit as ended:
        return ended.code


@FUZZ
@given(words=command_lines())
def test_command_lines(box, harmless, capsys, words):
    TRIED["command lines"] += 1
    sys.argv = ["hedera", *words]
    status = run()
    said = capsys.readouterr()
    assert status in (0, 1, 2, 3)
    assert "Traceback" not in said.err
    if status in (2, 3):
        assert said.out == ""
        assert said.err.strip()
        sentences = [line for line in said.err.splitlines() if not line.startswith(("Usage:", "Try ")) and line.strip()]
        assert len(sentences) <= 2, said.err
    made = {path.relative_to(box).parts[0] for path in box.rglob("*")}
    assert made <= {"results", "out"}


@pytest.fixture(autouse=True)
def _argv(monkeypatch):
    monkeypatch.setattr(sys, "argv", list(sys.argv))
