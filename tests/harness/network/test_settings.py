"""A setting of the machine's is put back, by the run or by who cleans up after it."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.network import bunching
from harness.network.settings import Setting


@pytest.fixture
def setting(tmp_path):
    path = tmp_path / "hysteresis"
    path.write_text("0\n")
    return Setting(path, "a setting", lambda text: text in ("0", "1"))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "run"
    made.mkdir()
    return made


def test_it_is_put_back_after_the_run_and_after_a_failure(setting, folder):
    with setting.changed_to("1", folder):
        assert setting.read() == "1"
    assert setting.read() == "0"
    with pytest.raises(ZeroDivisionError), setting.changed_to("1", folder):
        raise ZeroDivisionError
    assert setting.read() == "0"
    assert not list(folder.iterdir())


def test_what_is_as_wanted_is_not_touched(setting, folder):
    with setting.changed_to("0", folder):
        assert not list(folder.iterdir())


def test_after_a_kill_it_is_restored_once(setting, folder):
    with setting.changed_to("1", folder):
        note = (folder / "hysteresis").read_text()  # what is found when nobody comes back
    setting.path.write_text("1")
    (folder / "hysteresis").write_text(note)
    assert setting.restore(folder)
    assert setting.read() == "0"
    assert not setting.restore(folder)


def test_killed_as_it_puts_back_it_is_still_known(setting, folder, monkeypatch):
    """The note goes after what it is there for."""
    written = Path.write_text

    def killed(path, text):
        if path == setting.path and text == "0":
            raise KeyboardInterrupt
        return written(path, text)

    monkeypatch.setattr(Path, "write_text", killed)
    with pytest.raises(KeyboardInterrupt), setting.changed_to("1", folder):
        pass
    monkeypatch.undo()
    assert setting.read() == "1"
    assert setting.restore(folder)
    assert setting.read() == "0"


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "allowed"
    path.write_text("reno")
    return Setting(path, "a list", lambda text: bool(text))


def test_of_two_that_change_it_each_takes_back_its_own(words, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(words.changed_to("reno cubic", tmp_path / "a"))
        second.enter_context(words.changed_to("reno cubic dctcp", tmp_path / "b"))
        first.close()
        assert words.read() == "reno dctcp", "the second still needs its own"
        second.close()
    assert words.read() == "reno"


def test_what_an_older_version_noted_is_put_back(setting, folder):
    setting.path.write_text("1")
    (folder / "hysteresis").write_text("0")
    assert setting.restore(folder)
    assert setting.read() == "0"


def test_a_setting_that_has_gone_with_its_module_is_nothing_to_put_back(setting, folder):
    with setting.changed_to("1", folder):
        setting.path.unlink()
    assert not setting.path.exists()


def test_what_may_not_be_written_leaves_no_note(setting, folder, monkeypatch):
    monkeypatch.setattr(Setting, "read", lambda self: "0")
    setting.path.unlink()
    setting.path.mkdir()
    with pytest.raises(OSError, match="directory"), setting.changed_to("1", folder):
        pass
    assert not list(folder.iterdir())


@pytest.mark.parametrize("copy", ["2", "", "\udcff", "0 1"])
def test_a_copy_that_is_none_is_not_believed(setting, folder, copy):
    (folder / "hysteresis").write_text(copy, errors="surrogateescape")
    assert not setting.restore(folder)
    assert setting.read() == "0"


def test_a_link_in_place_of_the_copy_is_not_followed(setting, folder, tmp_path):
    (tmp_path / "elsewhere").write_text("1")
    (folder / "hysteresis").symlink_to(tmp_path / "elsewhere")
    assert not setting.restore(folder)
    assert setting.read() == "0"


def test_a_machine_without_it_or_that_forbids_it_has_ports_that_do_not_bunch(setting, folder, monkeypatch):
    monkeypatch.setattr(bunching, "HYSTERESIS", setting)
    with bunching.bunched(folder, "user") as there:
        assert there
        assert setting.read() == "1"
    with bunching.bunched(folder, "kernel") as there:
        assert not there
        assert setting.read() == "0"
    setting.path.unlink()
    with bunching.bunched(folder, "user") as there:
        assert not there
    setting.path.mkdir()  # can be read by nobody
    with bunching.bunched(folder, "user") as there:
        assert not there


def test_where_it_is_allowed_it_is_changed_and_put_back(setting, folder):
    with setting.changed_where_allowed("1", folder) as changed:
        assert changed
        assert setting.read() == "1"
    assert setting.read() == "0"
    with pytest.raises(OSError, match="of the block's"), setting.changed_where_allowed("1", folder):
        raise OSError("of the block's")
    assert setting.read() == "0"


def test_where_it_is_not_there_or_not_ours_the_block_runs_all_the_same(setting, folder):
    setting.path.unlink()
    entered = []
    with setting.changed_where_allowed("1", folder) as changed:
        entered.append(changed)  # a kernel without it
    setting.path.mkdir()
    with setting.changed_where_allowed("1", folder) as changed:
        entered.append(changed)  # one that lets nobody read it
    assert entered == [False, False]
