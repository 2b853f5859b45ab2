import pytest

from record.errors import make_printable, to_one_line


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain words", "plain words"),
        ("two\nlines\r\n and\ttabs", "two lines and tabs"),
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("c1 \x9b31m", r"c1 \x9b31m"),
        ("exe\u202efdp", r"exe\u202efdp"),
        ("half \udc80", r"half \udc80"),
        ("naïve 16×", "naïve 16×"),
        ("", ""),
        (OSError("gone\a"), r"gone\x07"),
    ],
)
def test_nothing_reaches_the_terminal_but_what_it_shows(said, shown):
    assert to_one_line(said) == shown


@pytest.mark.parametrize("said", ["x" * 21, "\x1b" * 10, "x" * 10**6, " " * 10**6, "x " * 100])
def test_a_line_has_a_limit(said):
    assert len(to_one_line(said, 20)) <= 20
    assert to_one_line(said, 20).endswith("...")
    assert to_one_line("x" * 20, 20) == "x" * 20


def test_lines_stay_lines_where_they_may():
    assert make_printable("a\nb\x1b") == "a\nb\\x1b"
