"""What tests/conftest.py sees to."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]


def pytest_on(tmp_path, body, *options):
    (tmp_path / "test_it.py").write_text(body)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        *options,
        tmp_path,
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("-n1",)])
@pytest.mark.parametrize(
    "body",
    [
        "class A:\n    def __del__(self): raise OSError('left')\ndef test(): A()",
        "import threading\ndef test(): t = threading.Thread(target=open, args=['/left']); t.start(); t.join()",
    ],
)
def test_what_nobody_could_catch_fails_the_tests(tmp_path, body, options):
    """It is told while some test or other runs, which passes."""
    done = pytest_on(tmp_path, body, *options)
    assert done.returncode == 1, done.stdout
    assert "left" in done.stdout
    assert pytest_on(tmp_path, "def test(): pass", *options).returncode == 0


def test_a_busy_machine_fails_no_property():
    assert settings().deadline is None


def test_a_test_that_grades_here_leaves_hypothesis_as_it_was(tmp_path):
    body = (
        "from hypothesis.configuration import storage_directory\n"
        "from classroom.histories import leave_nothing\n"
        "def place(): return str(storage_directory('examples', intent_to_write=False).path)\n"
        "def test_one(): leave_nothing(); assert place().startswith('/dev/null')\n"
        "def test_two(): assert not place().startswith('/dev/null')\n"
    )
    done = pytest_on(tmp_path, body)
    assert done.returncode == 0, done.stdout
