"""The page of results: whole, and no wider than the window."""

import pytest

from packets.page import write


def test_cells_are_text(tmp_path):
    (tmp_path / "table2.csv").write_text("load,scheme,published\n20,hull,0.3\n40,<tcp>,\n", encoding="utf-8")
    page = write(tmp_path).read_text(encoding="utf-8")
    assert "<th>load</th><th>scheme</th><th>published</th>" in page
    assert "<td>40</td><td>&lt;tcp&gt;</td><td></td>" in page
    assert "overflow-x: auto" in page


def test_a_page_that_cannot_be_written_leaves_nothing_and_one_of_nothing_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no results"):
        write(tmp_path)
    (tmp_path / "table2.csv").write_text("load\n20\n", encoding="utf-8")
    (tmp_path / "hull.html").mkdir()
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hull.html", "table2.csv"]
