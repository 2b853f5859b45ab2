"""The control groups of hosts, and the setting of the machine's that version 2 needs for them."""

import os
from dataclasses import replace

import pytest

from harness.network import cpulimit
from harness.network.cpulimit import HostGroups


class Unified:
    """A file like cgroup.subtree_control, which is told changes and answers with what is so."""

    name = "cgroup.subtree_control"

    def __init__(self, *handed):
        self.handed, self.busy = set(handed), False

    def exists(self):
        return True

    def read_text(self):
        return " ".join(sorted(self.handed)) + "\n"

    def write_text(self, changes):
        for sign, *name in changes.split():
            if sign == "-" and self.busy:
                raise OSError(16, os.strerror(16))
            (self.handed.add if sign == "+" else self.handed.discard)("".join(name))


@pytest.fixture
def unified(tmp_path, monkeypatch):
    """A machine with version 2 alone, of which no group has a controller but memory's."""
    root = tmp_path / "cgroup"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpu io memory\n")
    control = Unified("memory")
    monkeypatch.setattr(cpulimit, "LEGACY", tmp_path / "nowhere")
    monkeypatch.setattr(cpulimit, "UNIFIED", root)
    monkeypatch.setattr(cpulimit, "SUBTREE", replace(cpulimit.SUBTREE, path=control))
    return control


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def emptied(groups):
    """A group of the kernel's goes with its files; a plain folder has to be emptied first."""
    for path in groups._group.iterdir():
        path.unlink()


def test_groups_get_the_controller_and_it_is_taken_back(unified, folder, tmp_path):
    with HostGroups("1-2", 0.5, folder) as groups:
        assert unified.handed == {"cpu", "memory"}
        assert (tmp_path / "cgroup" / "hedera-1-2" / "cgroup.subtree_control").read_text() == "+cpu"
        emptied(groups)
    assert groups.applied
    assert unified.handed == {"memory"}
    assert not (tmp_path / "cgroup" / "hedera-1-2").exists()
    assert not list(folder.iterdir())


def test_where_it_was_so_before_it_stays(unified, folder):
    unified.handed.add("cpu")
    with HostGroups("1-2", 0.5, folder) as groups:
        emptied(groups)
    assert unified.handed == {"cpu", "memory"}


def test_where_others_use_it_by_now_the_run_is_none_the_worse_and_the_note_stays(unified, folder):
    with HostGroups("1-2", 0.5, folder) as groups:
        unified.busy = True
        emptied(groups)
    assert unified.handed == {"cpu", "memory"}
    with pytest.raises(OSError, match="busy"):
        cpulimit.SUBTREE.restore(folder)
    unified.busy = False
    assert cpulimit.SUBTREE.restore(folder)
    assert unified.handed == {"memory"}


def test_an_empty_note_takes_nothing_from_anybody(unified, folder):
    (folder / unified.name).touch()
    assert not cpulimit.SUBTREE.restore(folder)
    assert unified.handed == {"memory"}


def test_a_machine_that_refuses_has_no_limit_and_nothing_left(unified, folder, tmp_path, monkeypatch):
    def refuse(self, changes):
        raise OSError(13, os.strerror(13))

    monkeypatch.setattr(Unified, "write_text", refuse)
    with HostGroups("1-2", 0.5, folder) as groups:
        assert not groups.applied
        assert groups.procs_file("0_0_2") is None
    assert groups.reason == "the CPU cgroup controller refuses: Permission denied"
    assert not (tmp_path / "cgroup" / "hedera-1-2").exists()
    assert not list(folder.iterdir())
