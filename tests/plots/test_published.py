import numpy as np
import pytest

from plots import published
from plots.summary import summarise
from tests.plots.sweeps import store_rates


def sweep_of(folder, rates, **changes):
    sweep = store_rates(folder, rates, **changes)
    return summarise(sweep), sweep.runs


def test_a_match_states_differences_and_correlation(tmp_path):
    patterns = ["published:stride2", "published:stride4", "published:randbij0"]
    ours = [60.0, 40.0, 50.0]
    rates = {(p, "nonblocking"): 100.0 for p in patterns}
    rates |= {(p, "ecmp"): rate for p, rate in zip(patterns, ours, strict=True)}
    summary, _ = sweep_of(tmp_path, rates)
    match = published.match_published(summary, "ecmp")
    theirs = [6525 / 12395, 3482 / 12465, 4740 / 12558]
    differences = np.array(ours) / 100 - theirs
    assert match.rows.pattern.tolist() == patterns
    assert match.column == "ECMP"
    assert match.mean == pytest.approx(differences.mean())
    assert match.mean_absolute == pytest.approx(np.abs(differences).mean())
    assert match.correlation == pytest.approx(np.corrcoef(ours, theirs)[0, 1])


@pytest.mark.parametrize(
    ("pattern", "family"),
    [
        ("published:stride8 x2", "stride x2"),
        ("stride:4", "drawn stride"),
        ("stride:4 x2 keep 0.5", "drawn stride x2 keep 0.5"),
        ("staggered:0.2,0.3", "drawn staggered:0.2,0.3"),
        ("file:/a/b2.csv", "file:/a/b2.csv"),
    ],
)
def test_families(pattern, family):
    assert published.name_family(pattern) == family


def test_a_family_is_the_mean_over_patterns_of_medians_over_trials(tmp_path):
    rates = {("published:stride2", "nonblocking"): [100] * 3, ("published:stride4", "nonblocking"): [100] * 3}
    rates |= {("published:stride2", "hedera-gff"): [70, 80, 99], ("published:stride4", "hedera-gff"): [90, 90, 10]}
    summary, _ = sweep_of(tmp_path, rates)
    (family,) = published.list_families(summary)
    mean = family.means["hedera-gff"]
    theirs = [10634 / 12395, 11790 / 12465]
    assert mean["ours"] == pytest.approx((0.8 + 0.9) / 2)
    assert mean["published"] == pytest.approx(sum(theirs) / 2)
    assert mean["mean_absolute"] == pytest.approx((abs(0.8 - theirs[0]) + abs(0.9 - theirs[1])) / 2)
    assert (mean["patterns"], mean["possible"]) == (2, 2)


def test_a_published_share_is_of_the_published_control_for_the_same_flows():
    for pattern, scheme, bar in (
        ("published:stride4", "ecmp", 3482),
        ("published:stride4", "spanning-tree", 3482),
        ("published:stride4", "hedera-sa", 11720),
        ("stride:4", "ecmp", 3482),
    ):
        assert published.find_published_share(pattern, scheme) == bar / 12465
    assert (
        published.find_published_share("published:stride4", "random")
        is published.find_published_share("published:stride4 x2", "ecmp")
        is None
    )
    assert published.find_published_share("stride:4", "ecmp", k=6) is None
