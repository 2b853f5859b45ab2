"""How many inputs were tried is counted here, and printed at the end."""

import pytest

from tests.fuzz.mutations import TRIED


@pytest.fixture
def box(tmp_path, monkeypatch):
    """An empty folder to work in. What appears beside it, or by a name that a shell would have made, was not asked
    for; below results/ a sweep may have any name."""
    here = tmp_path / "box"
    here.mkdir()
    monkeypatch.chdir(here)
    yield here
    assert [path.name for path in tmp_path.iterdir()] == ["box"]
    assert not [path for path in here.rglob("*") if "pwned" in path.name and here / "results" not in path.parents]


def pytest_terminal_summary(terminalreporter):
    if TRIED:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in TRIED.items())
        terminalreporter.write_line(f"inputs tried: {sum(TRIED.values()):,} ({kinds})")
