"""What holds for every test."""

import os
import platform
import signal

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine must not fail a test
settings.load_profile("patient")

SLOW_S = 1.0
"""A test that takes more seconds of a processor than this is marked `slow` (CONTRIBUTING.md)."""
SPENT = "seconds of a processor"
LEFT_OUT = {"root", "virtual", "slow"}
"""Marks of what `./check.sh --quick` leaves out."""
ENDED_BADLY: list[str] = []
"""What was raised where nobody could catch it: in a thread, or as garbage was collected."""


def pytest_runtest_setup(item):
    if os.geteuid() != 0 and item.get_closest_marker("root"):
        pytest.skip("needs root")
    if platform.machine() != "x86_64" and item.get_closest_marker("virtual"):
        pytest.skip("guests need a processor with x86-64")


def spent_s():
    """The processor time of this process, and of the processes that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = spent_s()
    try:
        return (yield)
    finally:
        item.user_properties.append((SPENT, spent_s() - before))


def pytest_warning_recorded(warning_message):
    kind = (pytest.PytestUnraisableExceptionWarning, pytest.PytestUnhandledThreadExceptionWarning)
    if issubclass(warning_message.category, kind):
        ENDED_BADLY.append(str(warning_message.message))


def pytest_sessionfinish(session):
    """The test that ran as it was told need not be the one to blame, but the tests have not passed."""
    if ENDED_BADLY and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for text in ENDED_BADLY:
        terminalreporter.write_line(f"nobody could catch this, so the tests have failed: {text}", red=True)
    # It fails nothing: a slower machine needs more, and the first test of a process pays for what it imports, which is
    # why those that take twice as long are told.
    for report in terminalreporter.getreports("passed"):
        spent = dict(report.user_properties).get(SPENT, 0.0)
        if report.when == "call" and spent > 2 * SLOW_S and not LEFT_OUT & report.keywords.keys():
            terminalreporter.write_line(f"{spent:.1f} s of a processor, and not marked slow: {report.nodeid}")


@pytest.fixture(autouse=True, scope="session")
def heard():
    """Ctrl-C means what it does at a terminal, though a script may have started the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
