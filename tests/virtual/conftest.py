import pytest

from record.errors import UnfitMachine
from virtual import kernel


@pytest.fixture(scope="session")
def linux():
    try:
        return kernel.kernel(print).linux
    except UnfitMachine as reason:
        pytest.skip(str(reason))
