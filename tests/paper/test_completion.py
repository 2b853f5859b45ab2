"""Load against slowdown."""

import json

import pytest

from paper import completion
from tests.paper.commands import is_png, rows, run, run_json

QUICK = ("-k", 4, "--seconds", 1.2, "--tick", 0.001, "--loads", "0.6,0.2", "--jobs", 1)


def test_a_row_per_load_scheme_period_and_class(tmp_path):
    found = run_json(
        completion, *QUICK, "--schemes", "ecmp,hedera-gff", "--intervals", "0.5,0.1", "--detect", 0.01,
        "--out", tmp_path,
    )  # fmt: skip
    assert len(found) == 2 * 4 * 4
    assert [row["load"] for row in found] == [0.2] * 16 + [0.6] * 16
    curves = [(row["scheme"], row["interval_s"], row["detect_s"]) for row in found[:16:4]]
    assert curves == [
        ("ecmp", None, None), ("hedera-gff", 0.5, None), ("hedera-gff", 0.1, None), ("hedera-gff", None, 0.01)
    ]  # fmt: skip
    assert [row["size_class"] for row in found[:4]] == ["all", "small", "medium", "large"]
    for load in (found[:16], found[16:]):
        assert len({row["flows"] for row in load if row["size_class"] == "all"}) == 1, "the same flows"
    assert all(row["mean_slowdown"] >= 1 for row in found if row["flows"])
    light, heavy = (next(r for r in found if r["load"] == load) for load in (0.2, 0.6))
    assert light["mean_slowdown"] < heavy["mean_slowdown"]
    assert light["carried"] < heavy["carried"]
    assert len(rows(tmp_path / "completion_k4.csv")) == 32
    assert is_png(tmp_path / "completion_k4.png")


def test_in_words(tmp_path):
    done = run(completion, *QUICK, "--schemes", "ecmp", "--sizes", "fixed:200000", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("cut off") == 2
    assert "      - " in done.stdout, "a class without flows"


@pytest.fixture
def emulated(tmp_path):
    def write(**changes):
        one = {"size_class": "small", "flows": 9, "cut_off": 1, "known_share": 0.5, "mean_s": 0.1, "median_s": 0.1,
               "p95_s": 0.2, "p99_s": 0.2, "mean_slowdown": 3.5, "median_slowdown": 2.0, "p95_slowdown": 6.0,
               "p99_slowdown": 7.0}  # fmt: skip
        spec = {"k": 4, "link_mbps": 10, "seconds": 30, "interval_s": 2, "queue": 50, "platform": "os-ken",
                "datapath": "user", "congestion_control": "cubic", "flows_per_host": 1, "keep": 1}  # fmt: skip
        run = {"schema": 2, "scheme": "hedera-sa", "traffic": "poisson:web-search,0.5", "trial": 1, "seed": 1,
               "capacity_mbps": 160, "window_s": [5, 25], "spec": spec, "bisection_mbps": 80, "payload_mbps": 76,
               "verdict": "ok", "reasons": [], "flows": [], "completion": [one]}  # fmt: skip
        path = tmp_path / "run.json"
        path.write_text(json.dumps(run | changes))
        return path

    return write


def rounded(row):
    return {name: f"{cell:.4g}" if isinstance(cell, float) else cell for name, cell in row.items()}


def test_an_emulated_run_stands_beside_and_what_is_stored_is_drawn_again(tmp_path, emulated):
    options = (*QUICK, "--schemes", "ecmp", "--out", tmp_path)
    first = run_json(completion, *options)
    path = emulated()
    for _ in range(2):
        again = run_json(completion, *options, "--redraw", "--emulated", path)
        assert [rounded(row) for row in again[:-1]] == [rounded(row) for row in first]
        last = again[-1]
        assert (last["scheme"], last["interval_s"], last["k"]) == ("hedera-sa", 2, 4)
        assert (last["load"], last["carried"], last["mean_slowdown"]) == (0.5, 0.5, 3.5)
        assert last["emulated"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"traffic": "stride:1"}, "not a run of poisson:SIZES,LOAD alone, but of stride:1"),
        ({"traffic": "stride:1 + poisson:web-search,0.5"}, "not a run of poisson"),
        ({"verdict": "invalid", "reasons": ["too slow"]}, "is an invalid run: too slow"),
        ({"scheme": 5}, "run.json"),
    ],
)
def test_a_run_that_says_nothing_about_loads_is_refused(tmp_path, emulated, changes, words):
    with pytest.raises(ValueError, match=words):
        completion.emulated(emulated(**changes))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loads", "0.5,0"], "--loads takes numbers above 0"),
        (["--loads", "1.5"], "at most 1"),
        (["--loads", "half"], "--loads takes numbers"),
        (["--sizes", "web"], "no law of flow sizes"),
        (["--schemes", "foo"], "no scheme 'foo'"),
        (["--intervals", "0"], "--intervals takes numbers above 0"),
        (["--sizes", "fixed:1", "--loads", "1"], "is the limit"),
    ],
)
def test_mistakes_come_to_light_before_the_first_simulation(options, words, tmp_path):
    done = run(completion, *options, "--out", tmp_path)
    assert done.exit_code == 2
    assert words in done.stderr.replace("\n", " ")
