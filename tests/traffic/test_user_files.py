import os

import pytest

from traffic.user_files import quote_shortly, read_text


def test_a_file_s_text_without_the_mark_of_its_editor(tmp_path):
    (tmp_path / "flows").write_bytes(b"\xef\xbb\xbfa,b\r\n")
    assert read_text(tmp_path / "flows", 1000) == "a,b\r\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "flows is not there"),
        ("pipe", "flows is not a regular file"),
        (b"x" * 2_000_001, "flows is larger than 2 MB"),
        (b"\xff\xfe", "flows is not a text file in UTF-8"),
    ],
)
def test_what_is_no_text_is_one_sentence(tmp_path, content, said):
    path = tmp_path / "flows"
    if content == "pipe":
        os.mkfifo(path)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{said}$"):
        read_text(path, 2_000_000)


def test_a_user_s_words_are_shown_short_and_harmless():
    assert quote_shortly("\x1b[31m") == r"'\x1b[31m'"
    assert quote_shortly("x" * 41) == repr("x" * 37 + "...")
