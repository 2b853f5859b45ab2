import pytest

from virtual import kernel
from virtual.errors import Unavailable


@pytest.fixture(scope="session")
def linux():
    """The kernel, where there is one: it takes minutes to compile, and a test is no place to find a source."""
    try:
        found = kernel.built()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if found is None:
        pytest.skip("there is no kernel for virtual time here yet: hedera kernel build [--apt-suite sid]")
    return found.linux
