"""An estimate of what runs take, held against what they were measured to take."""

import pytest

from harness.cost import describe_cost, estimate_processor_seconds
from record.spec import RunSpec


def of(seconds=10, **options):
    return RunSpec("hedera-sa", "stride:1", seconds=seconds, time="virtual", **options)


def test_it_is_near_what_was_measured():
    """README.md and docs/notes/virtual-time.md: 140 runs of 10 s in three minutes of two processors; k = 16."""
    assert estimate_processor_seconds([of()] * 140) / 2 == pytest.approx(180, rel=0.25)
    a_second_more = estimate_processor_seconds([of(11, k=16)]) - estimate_processor_seconds([of(10, k=16)])
    assert a_second_more == pytest.approx(13, rel=0.05)
    assert estimate_processor_seconds([of(11, link_mbps=1000)]) - estimate_processor_seconds(
        [of(link_mbps=1000)]
    ) == pytest.approx(1.5, rel=0.5)


def test_larger_networks_of_any_kind_take_longer():
    sizes = [of(k=4), of(k=8), of(k=16), of(k=24)]
    costs = [estimate_processor_seconds([spec]) for spec in sizes]
    assert costs == sorted(costs)
    small, large = (estimate_processor_seconds([of(topology=f"leaf-spine:{leaves},2,8")]) for leaves in (2, 32))
    assert large > 5 * small


def test_a_sentence_names_the_runs_and_both_durations():
    words = describe_cost([of()] * 140, 2)
    assert words.startswith("these 140 runs, 2 at once, take about 3.1 minutes where")
    assert "up to 6.2 minutes beside other work" in words
    assert describe_cost([of()], 2).startswith("this run takes about")


def test_beside_others_fast_links_take_longest():
    """Measured where others used the cache: stride(4) for 10 s took 60 s of a processor under ECMP, 92 under GFF."""
    assert "up to 1.6 minutes beside" in describe_cost([of(link_mbps=1000)], 1)
