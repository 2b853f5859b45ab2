"""What a machine is asked has an end: a tool that hangs is as one that is not there."""

import os

import pytest

from harness.network import machine
from harness.run import job


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Puts a program by a name before all others."""

    def put(name, script):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


@pytest.fixture
def fresh():
    """Nothing is remembered of what was asked, before and after."""

    def forget():
        for each in (machine.load_known_facts, machine.find_version):
            each.cache_clear()

    forget()
    yield
    forget()


@pytest.mark.parametrize(
    ("status", "revision"),
    [("", "abc"), ("echo ' M file'", "abc+"), ("exit 128", "unknown"), ("exec sleep 600", "unknown")],
)
def test_a_revision_says_whether_the_tree_is_as_it_was_and_a_git_that_fails_knows_none(
    tool, monkeypatch, status, revision
):
    if "sleep" in status:
        monkeypatch.setattr(job, "GIT_S", 0.5)
    tool("git", f'case "$*" in *rev-parse*) echo abc;; *) {status};; esac')
    assert job.read_git_revision() == revision


@pytest.mark.parametrize(("guest", "version"), [(True, "9.9"), (False, "1.2")])
def test_a_guest_alone_believes_what_it_is_told_of_tools_and_revision(tool, fresh, monkeypatch, guest, version):
    tool("iperf", "echo iperf version 1.2")
    monkeypatch.setattr(machine, "time_travels", lambda: guest)
    monkeypatch.setenv(machine.FACTS, '{"tools": {"iperf": "9.9", "no-such-program": "9.9"}, "revision": "abc"}')
    (iperf,) = (one for one in machine.TOOLS if one.name == "iperf")
    assert machine.find_version(iperf) == version
    assert (job.read_git_revision() == "abc") == guest
    assert machine.find_version(machine.Tool("no-such-program", "bwm-ng", ())) is None, "it has to be there"


# --- where POX is


GAR = "class C:\n  version = (0,7,0)\n  version_name = 'gar'\n"


def make_checkout(place, core=GAR):
    (place / "pox").mkdir(parents=True)
    (place / "pox.py").touch()
    (place / "pox" / "core.py").write_text(core)
    return place


def test_pox_is_found(tmp_path, monkeypatch):
    named = make_checkout(tmp_path / "elsewhere")
    assert machine.find_pox({"POX_DIR": str(named)}) == named
    assert machine.read_pox_version(named) == "0.7.0 (gar)"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    home = make_checkout(tmp_path / "home" / "pox")
    assert machine.find_pox({}) == home
    with pytest.raises(ValueError, match=r"no pox\.py"):
        machine.find_pox({"POX_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("core", "version", "old"),
    [
        (GAR, "0.7.0 (gar)", False),
        ("class C:\n  version = (0,8,0)\n  version_name = 'halosaur'\n", "0.8.0 (halosaur)", False),
        ("class C:\n  version = (1,0,0)\n  version_name = 'iguana'\n", "1.0.0 (iguana)", False),
        ("def f():\n    self.version = (0,2,0)\n    self.version_name = 'carp'\n", "0.2.0 (carp)", True),
        ("class C:\n  version = (0,6,0)\n  version_name = 'fangtooth'\n", "0.6.0 (fangtooth)", True),
        ("", "unknown", False),
    ],
)
def test_a_pox_for_python_2_is_known_by_its_version(tmp_path, core, version, old):
    checkout = make_checkout(tmp_path, core)
    assert machine.read_pox_version(checkout) == version
    assert machine.is_too_old_pox(checkout) is old
