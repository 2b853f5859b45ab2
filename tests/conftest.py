"""What holds for every test."""

import os
import platform
import signal

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine must not fail a test
settings.load_profile("patient")

ENDED_BADLY: list[str] = []
"""What was raised where nobody could catch it: in a thread, or as garbage was collected."""


def pytest_runtest_setup(item):
    if os.geteuid() != 0 and item.get_closest_marker("root"):
        pytest.skip("needs root")
    if platform.machine() != "x86_64" and item.get_closest_marker("virtual"):
        pytest.skip("guests need a processor with x86-64")


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


@pytest.fixture(autouse=True, scope="session")
def heard():
    """Ctrl-C means what it does at a terminal, though a script may have started the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
