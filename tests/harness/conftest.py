import signal

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


@pytest.fixture(autouse=True, scope="session")
def heard():
    """Ctrl-C means what it does at a terminal, though a script may have started the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
