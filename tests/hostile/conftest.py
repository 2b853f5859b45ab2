"""Each test here is one attack, tried as an enemy would, with the enemy's own uid; its docstring names it.

The last lines of `pytest tests/hostile` say how many were tried, and how many the project held against.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and not (item.function.__doc__ or "").strip():
            raise pytest.UsageError(f"{item.nodeid} is an attack without a docstring that names it")


def pytest_terminal_summary(terminalreporter):
    outcomes = {
        outcome: {
            report.nodeid
            for report in terminalreporter.stats.get(outcome, ())
            if HERE.name in Path(report.nodeid.partition("::")[0]).parts
        }
        for outcome in ("passed", "failed", "error", "skipped")
    }
    lost = outcomes["failed"] | outcomes["error"]
    held = outcomes["passed"] - lost
    if not held | lost:
        return
    skipped = f" ({len(outcomes['skipped'])} could not be tried here)" if outcomes["skipped"] else ""
    terminalreporter.section("attacks")
    terminalreporter.write_line(f"{len(held | lost)} tried, {len(held)} held{skipped}", bold=True)
    for name in sorted(lost):
        terminalreporter.write_line(f"lost: {name}", red=True)
