import csv
import io

import numpy as np
import pytest
import scipy

from plots import paired_tests
from plots.stored_sweep import load_sweep
from record.published import FIGURE_9
from tests.plots.sweeps import run_document, store, store_rates


def test_it_is_the_paired_t_test(tmp_path):
    a, b = [90.0, 95.0, 88.0, 91.0], [60.0, 70.0, 55.0, 66.0]
    compared = paired_tests.compare_all(store_rates(tmp_path, {("stride:4", "hedera-sa"): a, ("stride:4", "ecmp"): b}))[
        0
    ]
    (row,) = compared.patterns
    reference = scipy.stats.ttest_rel(a, b)
    interval = reference.confidence_interval(0.95)
    assert (row.pairs, row.mean) == (4, np.mean(np.subtract(a, b)))
    assert row.p == pytest.approx(reference.pvalue)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    assert row.adjusted == row.p
    assert row.verdict == paired_tests.SUPPORTED


def test_trials_are_paired_by_their_number_and_only_valid_ones_count(tmp_path):
    rates = {("stride:4", "hedera-sa"): [90.0, None, 80.0, 85.0], ("stride:4", "ecmp"): [60.0, 10.0, 55.0]}
    row = paired_tests.compare_all(store_rates(tmp_path, rates))[0].patterns[0]
    assert row.pairs == 2
    assert row.mean == pytest.approx((30 + 25) / 2)


def test_over_all_patterns_a_trial_counts_once(tmp_path):
    rates = {}
    for i in range(10):  # ten patterns that all say the same in each trial are not thirty observations
        rates[f"stride:{i + 1}", "hedera-sa"] = [90.0, 100.0, 80.0]
        rates[f"stride:{i + 1}", "ecmp"] = [80.0, 80.0, 80.0]
    compared = paired_tests.compare_all(store_rates(tmp_path, rates))[0]
    assert (compared.overall.pairs, compared.common) == (3, 10)
    assert compared.overall.mean == 10
    assert compared.overall.p == pytest.approx(scipy.stats.ttest_rel([90, 100, 80], [80, 80, 80]).pvalue)


def test_over_all_patterns_only_those_with_every_trial_are_averaged(tmp_path):
    rates = {("stride:1", s): [10.0 * k, 11.0 * k, 12.0 * k] for s, k in (("hedera-sa", 2), ("ecmp", 1))}
    rates |= {("stride:2", "hedera-sa"): [None, 500.0, 500.0], ("stride:2", "ecmp"): [1.0, 1.0, 1.0]}
    compared = paired_tests.compare_all(store_rates(tmp_path, rates))[0]
    assert compared.common == 1
    assert compared.overall.mean == pytest.approx(11)


def test_holm_by_its_definition():
    rows = [paired_tests.MeanInterval(str(p), 3, 1.0, 0.0, 1.0, p, p) for p in (0.01, 0.04, 0.03, 0.005)]
    rows.append(paired_tests.MeanInterval("silent", 1, 1.0))
    adjusted = [row.adjusted for row in paired_tests.adjust_by_holm(rows)]
    assert adjusted[:4] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted[4] is None


def test_equal_differences_need_no_division_by_zero():
    assert paired_tests.estimate_mean("x", [2.0, 2.0, 2.0]).p == 0
    assert paired_tests.estimate_mean("x", [0.0, 0.0, 0.0]).p == 1


def gaining(folder):
    """Hedera is above ECMP for certain under the first pattern, below under the second, neither under the third, and
    a fourth has too few trials; of a trial of the first, one try more was left out."""
    ecmp = [50.0, 51.0, 52.0]
    rates = {}
    for pattern, above in (("stride:1", 20.0), ("stride:2", -20.0), ("stride:3", 0.0)):
        rates[pattern, "ecmp"] = ecmp
        rates[pattern, "hedera-sa"] = [rate + above + noise for rate, noise in zip(ecmp, (-0.1, 0.0, 0.1), strict=True)]
    rates["stride:4", "ecmp"] = rates["stride:4", "hedera-sa"] = [50.0]
    store_rates(folder, rates)
    slow = {"verdict": "invalid", "reasons": ["slow"], "bisection_mbps": 1.0}
    store(folder, run_document("stride:1", "hedera-sa", 1, **slow), attempt="-again")
    return load_sweep(folder)


OWN = {("stride:1", "mine.py:Mine"): [8.0, 9.0, 10.1], ("stride:1", "hedera-gff"): [5.0, 6.0, 7.0]}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    return gaining(tmp_path_factory.mktemp("gaining"))


def test_a_sentence_counts_patterns_over_valid_runs_and_over_all_tries(sweep):
    sentence = paired_tests.describe_significance(sweep)
    assert "hedera-sa in 1 of 3 patterns, below in 1 (with invalid runs counted 0 and 1 of 3)." in sentence


def test_a_sentence_on_one_of_the_user_s_own_has_its_difference(tmp_path):
    beside = store_rates(tmp_path, OWN)
    assert paired_tests.describe_significance(beside) == (
        "mine.py:Mine minus hedera-gff: +3.0 Mb/s on the wire in the mean of 1 pattern, 95 % interval +2.9 to +3.2, "
        "for certain; above for certain in 1 of 1, below in 0."
    )


def test_a_sentence_needs_three_trials_and_something_to_compare_with(tmp_path):
    few = store_rates(tmp_path / "few", {key: rates[:2] for key, rates in OWN.items()})
    assert "takes 3 valid trials" in paired_tests.describe_significance(few)
    assert paired_tests.describe_significance(store_rates(tmp_path / "one", dict([*OWN.items()][:1]))) == ""


def test_the_csv_has_differences_over_valid_runs_and_over_all_tries(sweep):
    rows = list(csv.DictReader(io.StringIO(paired_tests.format_csv(sweep))))
    assert tuple(rows[0]) == paired_tests.CSV_COLUMNS
    keys = [(row["over"], row["pattern"]) for row in rows]
    patterns = ["stride:1", "stride:2", "stride:3", "stride:4", "all"]
    assert keys == [(over, pattern) for over in (paired_tests.VALID, paired_tests.ALL_TRIES) for pattern in patterns]
    valid, every = rows[0], rows[5]
    assert (valid["pairs"], valid["mean_mbps"], valid["verdict"]) == ("3", "20.0000", "supported")
    assert float(valid["holm_p"]) == pytest.approx(3 * float(valid["p"]), rel=1e-3)
    assert (every["pairs"], every["verdict"]) == ("3", "not supported")
    assert float(every["mean_mbps"]) == pytest.approx((35.45 - 50 + 20 + 20.1) / 3, abs=1e-4)
    assert (rows[3]["pairs"], rows[3]["p"], rows[3]["verdict"]) == ("1", "", "nothing can be said")


def test_one_of_the_user_s_own_is_beside_all_of_hedera_s_and_a_mean_says_of_how_many_patterns(tmp_path):
    rates = {
        ("stride:1", "hedera-gff"): [50.0, 51.0, 52.0],
        ("stride:1", "hedera-sa"): [69.0, 71.0, 73.0],
        ("stride:1", "mine.py:Mine"): [70.0, 71.1, 72.0],
        ("stride:2", "hedera-gff"): [60.0, 62.0, 61.0],
        ("stride:2", "hedera-sa"): [60.0, 62.0, 61.0],
        ("stride:2", "mine.py:Mine"): [61.0, 61.0, 61.0],
    }
    gff, sa = paired_tests.describe_significance(store_rates(tmp_path, rates)).split(" mine.py:Mine minus ")
    assert gff.startswith("mine.py:Mine minus hedera-gff: +10.0 Mb/s on the wire in the mean of 2 patterns, ")
    assert gff.endswith("for certain; above for certain in 1 of 2, below in 0.")
    assert sa.startswith("hedera-sa: +0.0 Mb/s")
    assert sa.endswith("which may be chance; above for certain in 0 of 2, below in 0.")


@pytest.mark.parametrize(
    ("schemes", "asked"),
    [
        ("nonblocking ecmp hedera-gff a.py:A", "a.py:A-ecmp a.py:A-hedera-gff"),
        ("nonblocking ecmp hedera-sa hedera-gff a.py:A", "a.py:A-ecmp a.py:A-hedera-gff a.py:A-hedera-sa"),
        ("nonblocking spray ecmp flowlet:500", "flowlet:500-ecmp spray-ecmp"),
        ("nonblocking ecmp spanning-tree", "ecmp-spanning-tree"),
        ("nonblocking a.py:A b.py:B", "a.py:A-b.py:B"),
        ("nonblocking hedera-sa", ""),
    ],
)
def test_what_is_asked_first_of_any_list_of_schemes(tmp_path, schemes, asked):
    sweep = store_rates(tmp_path, {("stride:3", scheme): 90.0 for scheme in schemes.split()})
    found = paired_tests.select_comparisons(paired_tests.compare_all(sweep))
    assert [f"{each.first}-{each.second}" for each in found] == asked.split()


def rows_of_seeds(sweep):
    return {
        (row["measure"], row["pattern"], row["scheme"], row["beyond"]): row
        for row in csv.DictReader(io.StringIO(paired_tests.format_seeds_csv(sweep)))
    }


def test_a_share_is_of_the_control_of_the_same_trial_and_averaged_within_it(tmp_path):
    rates = {("stride:1", "nonblocking"): [100.0, 80.0, 100.0], ("stride:2", "nonblocking"): [100.0, 100.0, 100.0]}
    rates |= {("stride:1", "ecmp"): [50.0, 60.0, 60.0], ("stride:2", "ecmp"): [60.0, 55.0, 70.0]}
    row = rows_of_seeds(store_rates(tmp_path, rates))["wire", "all", "ecmp", ""]
    of_trials = [55.0, 65.0, 65.0]  # the mean of 50 and 60, of 75 and 55, of 60 and 70
    mean, sd = sum(of_trials) / 3, 33.3333333**0.5
    half = scipy.stats.t.ppf(0.975, 2) * sd / 3**0.5
    assert (row["patterns"], row["seeds"]) == ("2", "3")
    assert [float(row[name]) for name in ("mean", "low", "high")] == pytest.approx(
        [mean, mean - half, mean + half], rel=1e-4
    )


def test_how_far_shares_are_from_the_published_ones_above_and_below(tmp_path):
    rates = {(f"published:{name}", "nonblocking"): [100.0] * 3 for name in ("stride4", "stride8")}
    rates |= {("published:stride4", "ecmp@unsalted:edge-pair"): [40.0] * 3}
    rates |= {("published:stride8", "ecmp@unsalted:edge-pair"): [20.0] * 3}
    published = [100 * FIGURE_9[name]["ecmp"] / FIGURE_9[name]["nonblocking"] for name in ("stride4", "stride8")]
    row = rows_of_seeds(store_rates(tmp_path, rates))["from_published", "all", "ecmp@unsalted:edge-pair", ""]
    assert float(row["mean"]) == pytest.approx(((40 - published[0]) + (published[1] - 20)) / 2, rel=1e-4)


def test_what_is_beyond_another_is_paired_and_over_the_patterns_that_all_trials_have(tmp_path):
    rates = {(f"stride:{n}", "nonblocking"): [100.0] * 3 for n in (1, 2)}
    rates |= {("stride:1", "hedera-sa"): [90.0, 80.0, 90.0], ("stride:1", "ecmp"): [60.0, 50.0, 70.0]}
    rates |= {("stride:2", "hedera-sa"): [90.0, 90.0, 90.0], ("stride:2", "ecmp"): [10.0, None, 10.0]}
    found = rows_of_seeds(store_rates(tmp_path, rates))
    row = found["wire", "all", "hedera-sa", "ecmp"]
    assert (row["patterns"], row["seeds"], float(row["mean"])) == ("1", "3", pytest.approx(80 / 3, rel=1e-4))
    assert ("wire", "all", "ecmp", "hedera-sa") not in found, "each pair once"
