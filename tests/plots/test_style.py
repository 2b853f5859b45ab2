import pytest

from plots import style


@pytest.mark.parametrize(
    ("pattern", "short"),
    [
        ("published:stride4", "stride4"),
        ("file:flows.csv x2 keep 0.5", "file:flows.csv x2 keep 0.5"),
        ("poisson:/sizes/s.csv,0.5 + file:/a/b.csv", "poisson:/sizes/s.csv,0.5 + file:b.csv"),
    ],
)
def test_a_file_is_called_by_its_name(pattern, short):
    assert style.short(pattern) == short
