from pathlib import Path

import pytest

from files.sent import at, came, sent


def test_a_name_is_a_path_unless_its_file_was_sent(tmp_path):
    assert at("docs/m.csv") == Path("docs/m.csv")
    with sent({"docs/m.csv": tmp_path / "0"}):
        assert at("docs/m.csv") == at("./docs/m.csv") == at(Path("docs/m.csv")) == tmp_path / "0"
        assert at("m.csv") == Path("m.csv")
        assert came() == ["docs/m.csv"]
    assert at("docs/m.csv") == Path("docs/m.csv")
    assert came() == []


def test_what_was_sent_is_forgotten_with_the_work_that_it_came_with(tmp_path):
    with pytest.raises(RuntimeError), sent({"m.csv": tmp_path}):
        raise RuntimeError
    assert at("m.csv") == Path("m.csv")
