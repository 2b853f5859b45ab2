import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plots.load import load_run, load_sweep
from tests.plots.sweeps import broken, failed, run_document, store, write_sweep

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def write(folder, document):
    path = folder / "run.json"
    path.write_text(json.dumps(document))
    return path


def test_a_valid_run(tmp_path):
    run = load_run(store(tmp_path, run_document()))
    assert (run.scheme, run.traffic, run.pattern, run.trial) == (
        "hedera-sa", "published:stride4", "published:stride4", 1,
    )  # fmt: skip
    assert run.valid
    assert run.window_s == (5, 25)
    assert len(run.rates.t) == len(run.rates.total_mbps) == 30
    assert list(run.rates.hosts) == ["0_0_2"]
    assert run.flows[0].paths == ((0.0, 2),)
    assert [each.changed for each in run.rounds][:2] == [9, 0]


def test_a_run_that_broke_off(tmp_path):
    run = load_run(store(tmp_path, failed()))
    assert not run.valid
    assert run.bisection_mbps is run.maxmin_mbps is None
    assert run.rates.t == run.flows == run.rounds == ()
    assert run.reasons == ("the controller was not ready in 20 s",)


def test_multiplied_and_thinned_traffic_is_another_pattern(tmp_path):
    document = run_document(traffic="random")
    document["spec"] |= {"flows_per_host": 6, "keep": 0.5}
    assert load_run(store(tmp_path, document)).pattern == "random x6 keep 0.5"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 2}, "not a run of schema 1"),
        ({"scheme": 7}, "wrong kind"),
        ({"trial": "x"}, "wrong kind"),
        ({"bisection_mbps": None}, "wrong kind"),
        ({"bisection_mbps": float("nan")}, "nan is not a number"),
        ({"capacity_mbps": True}, "wrong kind"),
        ({"window_s": [1]}, "wrong kind"),
        ({"spec": []}, "wrong kind"),
        ({"rates": {"t": [1, 2], "total_mbps": [1]}}, "different lengths"),
        ({"rates": {}}, "has no t"),
        ({"rounds": [{"t": 1}]}, "has no large"),
    ],
)
def test_alien_documents_are_refused_with_a_reason(tmp_path, change, reason):
    with pytest.raises(ValueError, match=reason):
        load_run(write(tmp_path, run_document() | change))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"schema": 1}', "\udcff".encode("utf-8", "surrogateescape")]
)
def test_files_that_are_no_run(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=r"^(is|has) "):
        load_run(path)


@given(field=st.sampled_from(sorted(run_document())), value=JSON)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_in_any_field_gives_a_run_or_a_reason(tmp_path, field, value):
    path = write(tmp_path, run_document() | {field: value})
    try:
        run = load_run(path)
    except ValueError as error:
        reason = str(error)
    else:
        reason = run.pattern
    assert reason


@given(cut=st.integers(0, 3000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_document_that_was_cut_off(tmp_path, cut):
    text = json.dumps(run_document())
    path = tmp_path / "run.json"
    path.write_text(text[: min(cut, len(text) - 1)])
    with pytest.raises(ValueError, match="cut off"):
        load_run(path)


def test_a_sweep_lists_what_it_skips(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["ecmp", "random"])
    broken = tmp_path / "stride_4" / "hedera-sa" / "trial-1" / "run.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    being_written = tmp_path / "stride_4" / "ecmp" / ".trial-2.partial" / "run.json"
    being_written.parent.mkdir()
    being_written.write_text("{")
    (tmp_path / "sweep.json").write_text("{}")
    sweep = load_sweep(tmp_path)
    assert [run.scheme for run in sweep.runs] == ["ecmp", "random"]
    assert [(one.path, one.reason) for one in sweep.skipped] == [(broken, "is not JSON, or was cut off")]


def test_the_minority_with_other_settings_is_left_out(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["ecmp", "random", "nonblocking"])
    slow = run_document("stride:8", "ecmp")
    slow["spec"] |= {"bw": 5.0}
    store(tmp_path, slow)
    sweep = load_sweep(tmp_path)
    assert len(sweep.runs) == 3
    assert [one.reason for one in sweep.skipped] == ["has other settings than most runs here: bw 5.0"]


@pytest.mark.parametrize("first_valid", [False, True])
def test_of_two_tries_the_valid_one_counts(tmp_path, first_valid):
    verdicts = ("ok", "invalid") if first_valid else ("invalid", "ok")
    first = store(tmp_path, run_document(verdict=verdicts[0]))
    os.utime(first, (1, 1))
    again = store(tmp_path, run_document(verdict=verdicts[1]), attempt="-again")
    sweep = load_sweep(tmp_path)
    assert [run.path for run in sweep.runs] == [first if first_valid else again]
    assert [one.path for one in sweep.skipped] == [again if first_valid else first]


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no results folder"):
        load_sweep(tmp_path / "missing")
    assert load_sweep(tmp_path).runs == ()


def test_failures_and_phases(tmp_path):
    run = load_run(store(tmp_path, broken()))
    assert [(one.t, one.affected, one.rerouted_s, one.moving_s) for one in run.failures] == [
        (8.01, 5, 0.034, 1.99),
        (16.02, 0, None, None),
    ]
    assert [(one.start, one.end, len(one.down), one.best_mbps) for one in run.phases] == [
        (5, 8.01, 0, 160),
        (8.01, 16.02, 4, 120),
        (16.02, 25, 0, None),
    ]
    assert load_run(store(tmp_path, run_document())).phases == ()
