import pytest

from virtual import kernel
from virtual.errors import Unavailable


@pytest.fixture(scope="session")
def linux():
    """The kernel, where there is one: it takes minutes to compile, and which source does is not for a test to find."""
    try:
        found = kernel.built()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if found is None:
        pytest.skip("there is no kernel for virtual time here yet: hedera kernel build [--suite sid]")
    return found.linux
