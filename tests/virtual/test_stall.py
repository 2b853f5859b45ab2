import contextlib
import subprocess
import sys
import time

import pytest

from tests.commands import PATIENCE_S
from virtual import guest
from virtual.guest import Stall

COMPUTES = "while True: pass"
WAITS = "import time; time.sleep(600)"
STARVED = """
import time
while True:
    until = time.process_time() + 0.03
    while time.process_time() < until: pass
    time.sleep(0.1)
"""
"""Has a fifth of a processor or less, however fast that is, as on a machine where others have the rest."""


@pytest.fixture
def session():
    with contextlib.ExitStack() as ends:

        def start(code):
            process = ends.enter_context(subprocess.Popen([sys.executable, "-I", "-c", code], start_new_session=True))
            ends.callback(process.kill)
            return process.pid

        yield start


def looked(stall, seconds, clock=lambda: 7.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if (said := stall.look(clock())) is not None:
            return said
        time.sleep(0.05)
    return None


@pytest.mark.parametrize(
    ("code", "stalled_s", "said"), [(COMPUTES, 0.5, "while it computed for"), (WAITS, 3.0, "it did not compute")]
)
def test_one_that_computes_or_waits_without_end_hangs(session, code, stalled_s, said):
    told = looked(Stall(session(code), stalled_s), PATIENCE_S)
    assert told.startswith("the guest's clock has stood at 7 s")
    assert said in told


def test_one_that_is_starved_does_not(session):
    assert looked(Stall(session(STARVED), 1.5), 4) is None


def test_one_that_others_leave_no_processor_does_not(session, monkeypatch):
    """It is ready to run all the time. That it has had no processor is pretended: how to take it all depends on the
    machine's scheduler."""
    pid = session(COMPUTES)
    while sum(guest.measure_used_s(pid).values()) < 0.1:  # it has begun
        time.sleep(0.05)
    monkeypatch.setattr(guest, "measure_used_s", lambda number: {number: 0.0})
    assert looked(Stall(pid, 1.5), 4) is None
