"""Each test here is one attack, tried as an enemy would, with the enemy's own uid; its docstring names it."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and not (item.function.__doc__ or "").strip():
            raise pytest.UsageError(f"{item.nodeid} is an attack without a docstring that names it")
