from __future__ import annotations

import pytest

from hedera.rates import RateMeter

MBPS = 1e6


def test_is_the_difference_of_two_polls_not_the_average_of_a_lifetime() -> None:
    meter = RateMeter(10 * MBPS)
    assert meter.update([7], [0], [10.0]).tolist() == [0.0]
    assert meter.update([7], [2_500_000], [12.0]) == pytest.approx([1.0])  # lifetime average would be 1/6


def test_first_sample_counts_from_the_start_of_the_flow() -> None:
    assert RateMeter(10 * MBPS).update([1, 2], [625_000, 0], [1.0, 0.0]) == pytest.approx([0.5, 0.0])


def test_never_negative_when_an_entry_is_made_anew() -> None:
    meter = RateMeter(8.0)
    meter.update([1], [100], [10.0])
    assert meter.update([1], [3], [2.0]) == pytest.approx([1.5])
    assert meter.update([1], [1], [4.0]) == pytest.approx([0.25])


def test_a_counter_read_twice_repeats_the_rate() -> None:
    meter = RateMeter(8.0)
    meter.update([1], [4], [2.0])
    assert meter.update([1], [4], [2.0]) == pytest.approx([2.0])


def test_absent_flows_are_forgotten() -> None:
    meter = RateMeter(8.0)
    meter.update([1, 2], [4, 4], [2.0, 2.0])
    meter.update([2], [8], [4.0])
    assert meter.update([1, 2], [6, 12], [3.0, 6.0]) == pytest.approx([2.0, 2.0])


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="positive"):
        RateMeter(0)
    with pytest.raises(ValueError, match="argument"):
        RateMeter(8.0).update([1, 2], [1], [1.0])
