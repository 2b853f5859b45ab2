import json
import lzma
import math
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from record import run as record_run
from record.run import (
    ARCHIVE,
    SCHEMA,
    FlowRecord,
    Rule,
    Run,
    Settings,
    decode,
    encode,
    mean_over,
    pack,
    read,
    unpacked,
    write,
)
from tests.plots.sweeps import run_document
from traffic.user_files import Unreadable

RUN = Run(
    schema=SCHEMA,
    scheme="ecmp",
    traffic="stride:4",
    trial=1,
    seed=1,
    capacity_mbps=160.0,
    window_s=(5.0, 25.0),
    spec=msgspec.convert(run_document()["spec"], Settings),
    bisection_mbps=100.0,
    payload_mbps=93.6,
    verdict="ok",
    reasons=(),
    flows=(FlowRecord(src=0, dst=4, mbps=9.0),),
)


def run(**changes):
    return msgspec.structs.replace(RUN, **changes)


def text(**changes):
    return json.dumps(json.loads(encode(run())) | changes).encode()


def test_numbers_of_numpys_are_numbers_and_nothing_else_is():
    one = FlowRecord(src=np.int64(0), dst=4, mbps=np.float64(9.0))
    assert decode(encode(run(flows=(one,)))) == run()
    with pytest.raises(ValueError, match="object is not what a run has"):
        encode(run(environment={"a": object()}))


def test_nan_is_written_as_null_and_a_run_is_returned_as_it_will_be_read(tmp_path):
    path = tmp_path / "run.json"
    found = write(path, run(links={"0_0_1-eth1": math.nan}, maxmin_mbps=math.nan))
    assert b"NaN" not in path.read_bytes()
    assert found == read(path)
    assert (found.links, found.maxmin_mbps) == ({"0_0_1-eth1": None}, None)


@pytest.mark.parametrize("lacking", [{"payload_mbps": None}, {"bisection_mbps": math.nan}], ids=str)
def test_a_valid_run_without_its_numbers_is_not_written(tmp_path, lacking):
    with pytest.raises(ValueError, match="a valid run has"):
        write(tmp_path / "run.json", run(**lacking))
    assert not (tmp_path / "run.json").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 3}, "schema"),
        ({"scheme": 7}, r"Expected `str`, got `int` - at `\$.scheme`"),
        ({"trial": -1}, "trial"),
        ({"capacity_mbps": True}, "capacity_mbps"),
        ({"bisection_mbps": None}, "a valid run has"),
        ({"bisection_mbps": -1}, "bisection_mbps"),
        ({"verdict": "fine"}, "verdict"),
        ({"remarks": ["two\nlines"]}, "regex"),
        ({"window_s": [25, 5]}, "ends before"),
        ({"started": "yesterday"}, "started"),
        ({"spec": {}}, "missing required field"),
        ({"spec": {"k": 5}}, "multiple"),
        ({"rates": {"t": [1], "total_mbps": [1], "hosts": {"a": []}}}, "different lengths"),
        ({"links": {"a\n": 1.0}}, "regex"),
        # two runs that differ in an option that nobody knows could not be told apart
        ({"spec": json.loads(encode(RUN))["spec"] | {"colour": "red"}}, "colour"),
    ],
)
def test_alien_documents_are_refused_with_a_reason(change, reason):
    with pytest.raises(ValueError, match=reason):
        decode(text(**change))


NUMBERS = [text().replace(b"160.0", number) for number in (b"NaN", b"Infinity")]
NO_TEXT = text(traffic="x").replace(b'"x"', b'"\\udcff"')


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 1_000_000, b'{"a":' * 1_000_000, *NUMBERS, NO_TEXT])
def test_what_is_no_json(data):
    with pytest.raises(ValueError, match=r"is not JSON, or was cut off|is not a run of schema 2"):
        decode(data)


def test_reasons_are_lines_however_a_tool_said_it():
    said, line = "Traceback\n  boom\x1b[2J\n", "Traceback   boom [2J"
    assert decode(encode(run(verdict="invalid", reasons=(said,)))).reasons == (line,)
    with pytest.raises(ValueError, match=r"reasons"):
        decode(text(verdict="invalid", reasons=[said]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.slow
@given(field=st.sampled_from(sorted({*run_document(), *json.loads(encode(run()))})), value=JSON)
@settings(deadline=None)
def test_any_value_in_any_field_gives_a_run_or_a_reason(field, value):
    document = json.loads(text())
    try:
        back = decode(json.dumps(document | {field: value}).encode())
    except ValueError as error:
        reason = str(error)
    else:
        assert decode(encode(back)) == back
        reason = back.pattern
    assert "\n" not in reason


@given(cut=st.integers(0, 3000))
@settings(deadline=None)
def test_a_document_that_was_cut_off(cut):
    data = encode(run()).rstrip()
    with pytest.raises(ValueError, match=r"cut off|not a run of schema"):
        decode(data[: min(cut, len(data) - 1)])


def test_a_mean_counts_what_the_window_cuts_by_the_part_inside():
    times, rates = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 30.0, 40.0])
    for window, mean in (((1.0, 3.0), 25), ((0.5, 1.5), 15), ((0.0, 0.25), 10)):
        assert mean_over(times, rates, window) == pytest.approx(mean)
    assert np.isnan(mean_over(np.array([1.0]), np.array([5.0]), (3.0, 4.0)))
    assert np.isnan(mean_over(np.array([]), np.array([]), (0.0, 1.0)))


# --- runs in an archive, which gives them back; one that is somebody's trick gives a sentence


def store(folder, data):
    (folder / ARCHIVE).write_bytes(data)
    return folder / ARCHIVE


def test_what_is_packed_comes_out_and_the_same_bytes_each_time(tmp_path):
    runs = {"b/trial-1/run.json": b'{"traffic":"file:GNU.sparse.csv"}', "a/trial-1/run.json": b"[1]"}
    path = store(tmp_path, pack(runs))
    assert list(unpacked(path)) == sorted(runs.items())
    assert pack(dict(reversed(runs.items()))) == path.read_bytes()
    assert len(lzma.decompress(path.read_bytes()).splitlines()) == 2


@pytest.mark.parametrize("name", ["/abs/run.json", "../run.json", "a/../../run.json"])
def test_what_would_lie_outside_the_folder_is_left_out(tmp_path, name):
    path = store(tmp_path, pack({name: b"{}", "a/run.json": b"[]"}))
    assert list(unpacked(path)) == [("a/run.json", b"[]")]


def test_what_is_no_archive_or_is_cut_off_or_asks_for_much_is_one_sentence(tmp_path, monkeypatch):
    whole = pack({"a/run.json": b"[%s]" % (b"1," * 50_000 + b"1"), "b/run.json": b"[]"})
    much = lzma.compress(b'{"file": "a", "run": 1}', filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}])
    for data in (b"", b"nothing", lzma.compress(b"no runs"), whole[:-20], much, lzma.compress(b"[" * 10**6)):
        with pytest.raises(Unreadable, match=r"is no archive of runs|is cut off"):
            list(unpacked(store(tmp_path, data)))
    for limit, most in (("MAX_ARCHIVE_BYTES", 50_000), ("MAX_RUNS", 1)):
        with (
            monkeypatch.context() as patched,
            pytest.raises(Unreadable, match=r"larger than 0\.05 MB|more than 1 runs"),
        ):
            patched.setattr(record_run, limit, most)
            list(unpacked(store(tmp_path, whole)))


def test_what_is_no_json_is_not_packed_but_named():
    with pytest.raises(ValueError, match=r"a/run\.json"):
        pack({"a/run.json": b'{"cut": ', "b/run.json": b"[]"})


KEPT = sorted((Path(__file__).parents[2] / "results").rglob(ARCHIVE))


@pytest.mark.slow
def test_every_kept_run_is_read():
    """Those, too, that were made before there was some setting."""
    assert len(KEPT) > 40
    for path in KEPT:
        for _, document in islice(unpacked(path), 20):
            assert json.loads(document)["spec"].items() <= decode(document).settings.items()


def test_a_rule_has_other_names_in_its_file_and_its_old_ones_for_one_more_release():
    rule = Rule("total", False, 0.5, minimum=0.85)
    stored = msgspec.json.encode(rule)
    assert stored == b'{"rule":"total","kept":false,"found":0.5,"least":0.85}'
    assert msgspec.json.decode(stored, type=Rule) == rule
    with pytest.warns(DeprecationWarning, match="called passed now"):
        assert rule.kept is rule.passed
    with pytest.raises(AttributeError, match="no height"):
        _ = rule.height
