import csv
import io

import pytest
from scipy.stats import t

from plots.trials import seeds_csv
from tests.plots.sweeps import store_rates


def rows(sweep):
    return {
        (row["measure"], row["pattern"], row["scheme"], row["beyond"]): row
        for row in csv.DictReader(io.StringIO(seeds_csv(sweep)))
    }


def test_a_share_is_of_the_control_of_the_same_trial_and_averaged_within_it(tmp_path):
    rates = {("stride:1", "nonblocking"): [100.0, 80.0, 100.0], ("stride:2", "nonblocking"): [100.0, 100.0, 100.0]}
    rates |= {("stride:1", "ecmp"): [50.0, 60.0, 60.0], ("stride:2", "ecmp"): [60.0, 55.0, 70.0]}
    row = rows(store_rates(tmp_path, rates))["wire", "all", "ecmp", ""]
    of_trials = [55.0, 65.0, 65.0]  # the mean of 50 and 60, of 75 and 55, of 60 and 70
    mean, sd = sum(of_trials) / 3, 33.3333333**0.5
    half = t.ppf(0.975, 2) * sd / 3**0.5
    assert (row["patterns"], row["seeds"]) == ("2", "3")
    assert [float(row[name]) for name in ("mean", "low", "high")] == pytest.approx(
        [mean, mean - half, mean + half], rel=1e-4
    )


def test_what_is_beyond_another_is_paired_and_over_the_patterns_that_all_trials_have(tmp_path):
    rates = {(f"stride:{n}", "nonblocking"): [100.0] * 3 for n in (1, 2)}
    rates |= {("stride:1", "hedera-sa"): [90.0, 80.0, 90.0], ("stride:1", "ecmp"): [60.0, 50.0, 70.0]}
    rates |= {("stride:2", "hedera-sa"): [90.0, 90.0, 90.0], ("stride:2", "ecmp"): [10.0, None, 10.0]}
    found = rows(store_rates(tmp_path, rates))
    row = found["wire", "all", "hedera-sa", "ecmp"]
    assert (row["patterns"], row["seeds"], float(row["mean"])) == ("1", "3", pytest.approx(80 / 3, rel=1e-4))
    assert ("wire", "all", "ecmp", "hedera-sa") not in found, "each pair once"
