import pytest

from record.errors import UnfitMachine
from virtual import kernel
from virtual.kernel import build


@pytest.fixture(scope="session")
def linux():
    try:
        return kernel.find_kernel(print).linux
    except UnfitMachine as reason:
        pytest.skip(str(reason))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's home, in which nothing is kept, and no kernel was named."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(build.NAMED, raising=False)
    return tmp_path
