"""The engine, compiled once and kept; without ns-3 or a compiler these tests are skipped, and say why."""

import pytest

from studies.hull.packets import NotInstalled, build_engine


@pytest.fixture(scope="session")
def built():
    try:
        return build_engine()
    except NotInstalled as missing:
        pytest.skip(str(missing))
