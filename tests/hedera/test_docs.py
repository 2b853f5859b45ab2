"""The examples in the documentation do what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_one_scheduling_period() -> None:
    failures, examples = doctest.testfile(str(DOCS / "notes" / "scheduling-period.md"), module_relative=False)
    assert failures == 0
    assert examples > 20
