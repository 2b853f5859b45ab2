import os
from contextlib import nullcontext

import pytest

from harness import library
from harness.jobs import carry_out
from harness.jobs.carry_out import RESULT
from harness.network import cleanup, machine, netlink
from harness.network.processes import wait_until
from harness.run import experiment
from harness.run.observation import OBSERVATION_FILE
from record import run as record
from tests.commands import PATIENCE_S, let_in
from tests.harness.real_runs import footprint


@pytest.fixture(autouse=True)
def judged_as_made(monkeypatch):
    """A run that a test's carrier has made (`tests.harness.jobs.made`) is judged to be that."""
    judged = carry_out.judge_files

    def made_or_judged(spec, folder):
        return judged(spec, folder) if (folder / OBSERVATION_FILE).exists() else record.read(folder / RESULT)

    monkeypatch.setattr(carry_out, "judge_files", made_or_judged)


@pytest.fixture
def clean():
    """The test must leave the machine as it found it."""
    before = footprint()
    yield before
    wait_until(lambda: footprint() == before, PATIENCE_S)
    assert footprint() == before


@pytest.fixture
def theirs(tmp_path):
    """A folder of an unprivileged user's, reachable by that user."""
    let_in(tmp_path)
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    return folder


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Runs need no rights and no tools, and have a /run/hedera of the test's own."""
    monkeypatch.setattr(cleanup, "HOME", tmp_path / "home")
    for name in ("require_root", "require_tools"):
        monkeypatch.setattr(experiment, name, lambda: None)
    monkeypatch.setattr(machine, "require_datapath", lambda: None)


@pytest.fixture
def planned(monkeypatch):
    """The jobs that sweeps are told to carry out, none of which is, and the folder of the last sweep."""

    class Planned(list):
        def carry_out(self, jobs, folder, where=None):
            self.extend(jobs)
            self.folder = folder

    found = Planned()
    monkeypatch.setattr("harness.sweep.carry_out_with_progress", found.carry_out)
    monkeypatch.setattr("harness.sweep.show", lambda *_: None)
    monkeypatch.setattr(library, "carrier_for", lambda *asked, **named: nullcontext())
    return found


@pytest.fixture
def undrawn(monkeypatch):
    """Sweeps end without pictures and page, which take two seconds, and have tests of their own."""
    monkeypatch.setattr("plots.report.write_all", lambda sweep: [])


@pytest.fixture
def pid():
    """Of a thread in a network namespace of its own."""
    pid = netlink.hold_namespace()
    yield pid
    if pid in netlink._threads:
        netlink.release_namespace(pid)
