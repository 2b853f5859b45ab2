"""Files from elsewhere that mean harm: a run, traces, schedules; each ends in one sentence, soon."""

import pytest

from record.run import decode
from tests.record.test_run import text
from tests.traffic.encoded import content, trace, whole
from tests.traffic.test_traces import TWO, lay
from traffic.traces import read_chakra
from traffic.workload import make_workload


@pytest.mark.parametrize("name", ['=HYPERLINK("x")', "<script>", "a\u202eb", "-1+1", "x" * 900, "\x1b[2J"])
def test_a_name_that_is_code_or_turns_text_around_is_refused(name):
    """A foreign run's names are a spreadsheet's formula, a page's script, or obeyed by a terminal."""
    for field in ("scheme", "traffic"):
        with pytest.raises(ValueError, match=field):
            decode(text(**{field: name}))


@pytest.mark.parametrize("fact", ["\x1b[2J", ["\x9b31m"], {"a": "\u202e"}, {"\x1b": "a"}])
def test_a_fact_that_a_terminal_obeys_is_refused(fact):
    """What a foreign run says of its machine goes to the page and the terminal."""
    with pytest.raises(ValueError, match="environment"):
        decode(text(environment={"kernel": fact}))


def test_nodes_without_an_end_are_refused_where_the_limit_is(tmp_path, monkeypatch):
    """A Chakra node of a megabyte of dependencies."""
    monkeypatch.setattr("traffic.traces.MAX_WAITS", 1000)
    packed = trace(whole(1, 0) + content(5, bytes(10**6)))
    with pytest.raises(ValueError, match="have more than"):
        read_chakra(lay(tmp_path, packed))


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ("/* " * 200_000, "is neither send"),  # in the time that reading takes
        ("calc 5", "only computes: no rank sends to another"),
        ("send 5b to 0 tag 1\nrecv 5b from 0 tag 1", "only computes: no rank sends to another"),
    ],
    ids=len,
)
def test_schedules_that_take_time_or_nothing(tmp_path, first, says):
    """Comments in comments without end, and schedules in which no rank has anything to tell another."""
    (tmp_path / "it.goal").write_text(TWO % (first, ""))
    with pytest.raises(ValueError, match=says):
        make_workload(f"goal:{tmp_path}/it.goal", 16, seconds=1.0)
