"""What tests/conftest.py sees to."""

import os
import sys

import pytest

from tests.commands import PROJECT, ran


def pytest_on(folder, body):
    """What pytest says of a file of tests."""
    (folder / "test_it.py").write_text(body)
    # These tests may run in a worker of several. The pytest that they start is none.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    words = (sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", folder)
    return ran(*words, cwd=PROJECT, env=alone)


pytestmark = pytest.mark.slow  # each starts a pytest of its own, for one and a half seconds of a processor


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("class A:\n    def __del__(self): raise OSError('left')\ndef test(): A()", 1),
        ("import threading\ndef test(): t = threading.Thread(target=open, args=['/left']); t.start(); t.join()", 1),
        ("def test(): pass", 0),
    ],
)
def test_what_nobody_could_catch_fails_the_tests(tmp_path, body, status):
    """It is told while some test or other runs, which passes."""
    done = pytest_on(tmp_path, body)
    assert done.returncode == status, done.stdout
    assert ("left" in done.stdout) == bool(status)


# A moment is over when the clock of processor time has moved, which counts hundredths of a second.
TAKES_LONG = """
import pytest, tests.conftest
tests.conftest.SLOW_S = 0.0
def spend():
    before = tests.conftest.spent_s()
    while tests.conftest.spent_s() == before: sum(range(1_000))
def test_of_a_moment(): spend()
@pytest.mark.slow
def test_that_says_so(): spend()
"""


def test_what_takes_long_and_is_not_marked_so_is_told(tmp_path):
    done = pytest_on(tmp_path, TAKES_LONG)
    assert done.returncode == 0, done.stdout
    told = [line for line in done.stdout.splitlines() if "not marked slow" in line]
    assert [line.rpartition("::")[2] for line in told] == ["test_of_a_moment"]
