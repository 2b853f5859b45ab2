import pytest

from classroom.code import find_code, read_code


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.py:Mine", "cannot be read: No such file"),
        ("nowhere:Mine", "neither a file nowhere.py here nor an installed module"),
        ("theirs.py", "give FILE.py:CLASS"),
        ("theirs.py:not a name", "give FILE.py:CLASS"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        find_code(name)


def test_only_plain_files_are_read(tmp_path):
    (tmp_path / "secret").write_text("x = 1")
    (tmp_path / "link.py").symlink_to(tmp_path / "secret")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "long.py").write_bytes(b"#" * 300_000)
    (tmp_path / "picture.py").write_bytes(b"\xff\xfe\x00")
    for name in ("link.py", "folder.py", "long.py", "picture.py"):
        with pytest.raises(ValueError, match=name):
            read_code(tmp_path / name, "Mine")
