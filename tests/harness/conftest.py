import pytest

from harness.network.processes import wait_until
from tests.harness.real_runs import footprint


@pytest.fixture
def clean():
    """The test must leave the machine as it found it."""
    before = footprint()
    yield before
    wait_until(lambda: footprint() == before, 60)
    assert footprint() == before
