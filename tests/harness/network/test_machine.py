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
        for each in (machine.known_facts, machine.version_of):
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
    assert job.git_revision() == revision


@pytest.mark.parametrize(("guest", "version"), [(True, "9.9"), (False, "1.2")])
def test_a_guest_alone_believes_what_it_is_told_of_tools_and_revision(tool, fresh, monkeypatch, guest, version):
    tool("iperf", "echo iperf version 1.2")
    monkeypatch.setattr(machine, "time_travels", lambda: guest)
    monkeypatch.setenv(machine.FACTS, '{"tools": {"iperf": "9.9", "no-such-program": "9.9"}, "revision": "abc"}')
    (iperf,) = (one for one in machine.TOOLS if one.name == "iperf")
    assert machine.version_of(iperf) == version
    assert (job.git_revision() == "abc") == guest
    assert machine.version_of(machine.Tool("no-such-program", "bwm-ng", ())) is None, "it has to be there"
