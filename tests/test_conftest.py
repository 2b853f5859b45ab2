"""What tests/conftest.py sees to."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


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
    (tmp_path / "test_it.py").write_text(body)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout
    assert ("left" in done.stdout) == bool(status)
