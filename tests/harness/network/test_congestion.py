"""Leave for namespaces to choose an algorithm of TCP, and that it is taken back."""

import pytest

from harness.errors import UnfitMachine
from harness.network import congestion, machine
from harness.network.congestion import ALLOWED, permitted, restore


@pytest.fixture
def sysctl(tmp_path, monkeypatch):
    """Settings of a kernel that allows BBR alone, and has cubic as well."""
    folder = tmp_path / "sysctl"
    folder.mkdir()
    (folder / "tcp_available_congestion_control").write_text("bbr cubic\n")
    (folder / ALLOWED).write_text("bbr\n")
    monkeypatch.setattr(machine, "SYSCTL", folder)
    monkeypatch.setattr(congestion.subprocess, "run", lambda *_, **__: None)
    return folder / ALLOWED


def test_an_algorithm_is_allowed_while_the_block_runs(sysctl, tmp_path):
    with permitted("cubic", tmp_path):
        assert sysctl.read_text().split() == ["bbr", "cubic"]
        assert (tmp_path / ALLOWED).read_text() == "cubic", "a note, should this process be killed"
    assert sysctl.read_text().split() == ["bbr"]
    assert not (tmp_path / ALLOWED).exists()


def test_what_is_allowed_already_stays_so(sysctl, tmp_path):
    with permitted("bbr", tmp_path):
        assert not (tmp_path / ALLOWED).exists()
    assert sysctl.read_text().split() == ["bbr"]


def test_what_others_have_added_meanwhile_stays(sysctl, tmp_path):
    with permitted("cubic", tmp_path):
        sysctl.write_text("bbr cubic reno\n")
    assert sysctl.read_text().split() == ["bbr", "reno"]


def test_a_note_of_a_killed_run_is_carried_out_once_and_a_link_is_none(sysctl, tmp_path):
    sysctl.write_text("bbr cubic\n")
    note = tmp_path / ALLOWED
    (tmp_path / "other").write_text("bbr")
    note.symlink_to(tmp_path / "other")
    assert not restore(tmp_path)
    note.unlink()
    note.write_text("cubic")
    assert restore(tmp_path)
    assert sysctl.read_text().split() == ["bbr"]
    assert not restore(tmp_path)


def test_an_algorithm_that_the_kernel_lacks_is_told(sysctl, tmp_path):
    with (
        pytest.raises(UnfitMachine, match="the kernel has no TCP dctcp; it offers bbr, cubic"),
        permitted("dctcp", tmp_path),
    ):
        pytest.fail("it is not there")
