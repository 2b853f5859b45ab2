import pytest

from record.errors import UnfitMachine
from virtual import cache


def test_folders_are_made_for_us_alone_and_others_are_not_believed(home, tmp_path):
    made = cache.folder("kernels")
    assert made == home / "hedera" / "virtual" / "kernels"
    assert made.stat().st_mode & 0o777 == made.parent.stat().st_mode & 0o777 == 0o700
    made.chmod(0o777)
    (home / "hedera/virtual/link").symlink_to(tmp_path)
    for name in ("kernels", "link"):
        with pytest.raises(UnfitMachine, match=name):
            cache.folder(name)


@pytest.mark.parametrize(("name", "said"), [("my files", "set XDG_CACHE_HOME"), ("file", "Not a directory")])
def test_a_place_that_no_kernel_s_command_line_can_hold_or_that_cannot_be_written(tmp_path, monkeypatch, name, said):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(UnfitMachine, match=said):
        cache.folder()
