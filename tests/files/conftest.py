import pytest


@pytest.fixture
def reachable(tmp_path):
    """A folder of ours that every user can get to."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o001)
    return tmp_path
