import pytest

from virtual import kernel
from virtual.errors import Unavailable


@pytest.fixture(scope="session")
def linux():
    try:
        return kernel.kernel(print).linux
    except Unavailable as reason:
        pytest.skip(str(reason))
