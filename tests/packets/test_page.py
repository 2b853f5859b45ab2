"""The page of results: whole, with numbers where one looks for them, and no wider than the window."""

import pytest

from packets.page import write


def test_numbers_are_at_the_right_and_words_at_the_left(tmp_path):
    (tmp_path / "table2.csv").write_text("load,scheme,published\n20,hull,0.3\n40,<tcp>,\n", encoding="utf-8")
    page = write(tmp_path).read_text(encoding="utf-8")
    assert '<th class="number">load</th><th>scheme</th><th class="number">published</th>' in page
    assert '<td class="number">40</td><td>&lt;tcp&gt;</td><td class="number"></td>' in page
    assert "overflow-x: auto" in page
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".csv"] == ["hull.html"]


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "table2.csv").write_text("load\n20\n", encoding="utf-8")
    (tmp_path / "hull.html").mkdir()
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hull.html", "table2.csv"]
