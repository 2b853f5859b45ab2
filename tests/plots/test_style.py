import pytest

from plots import style


@pytest.mark.parametrize(
    ("pattern", "short"),
    [
        ("published:stride4", "stride4"),
        ("published:stride4 x2", "stride4 x2"),
        ("stride:4", "stride:4"),
        ("file:/home/me/flows.csv", "file:flows.csv"),
        ("file:flows.csv x2 keep 0.5", "file:flows.csv x2 keep 0.5"),
        ("file:/a/b.csv + poisson:web-search,0.5", "file:b.csv + poisson:web-search,0.5"),
        ("poisson:/sizes/s.csv,0.5 + file:/a/b.csv", "poisson:/sizes/s.csv,0.5 + file:b.csv"),
    ],
)
def test_a_file_is_called_by_its_name(pattern, short):
    assert style.short(pattern) == short


def test_colours_are_distinct_and_unknown_schemes_get_one():
    assert len(set(style.COLOURS.values())) == len(style.COLOURS) == 8
    assert style.colour("my-scheme") == style.colour("my-scheme")
    assert style.colour("my-scheme") not in style.COLOURS.values()
