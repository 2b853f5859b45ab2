"""What tests/conftest.py sees to."""

import sys

import pytest

from tests.commands import ROOT, ran


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
    done = ran(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", tmp_path, cwd=ROOT)
    assert done.returncode == status, done.stdout
    assert ("left" in done.stdout) == bool(status)
