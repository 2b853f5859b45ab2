import os

import pytest

from harness.jobs import publish
from harness.jobs.publish import RESULT
from harness.network.processes import wait_until
from harness.run.observation import SEEN
from record import run as record
from tests.harness.real_runs import footprint


@pytest.fixture(autouse=True)
def judged_as_made(monkeypatch):
    """A run that a test's carrier has made (`tests.harness.jobs.made`) is judged to be that."""
    judged = publish.judged

    def made_or_judged(spec, folder):
        return judged(spec, folder) if (folder / SEEN).exists() else record.read(folder / RESULT)

    monkeypatch.setattr(publish, "judged", made_or_judged)


@pytest.fixture
def clean():
    """The test must leave the machine as it found it."""
    before = footprint()
    yield before
    wait_until(lambda: footprint() == before, 60)
    assert footprint() == before


@pytest.fixture
def theirs(tmp_path):
    """A folder of an unprivileged user's, reachable by that user."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o001)
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    return folder
