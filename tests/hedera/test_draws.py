from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hedera.draws import below, bits, two_below


def test_the_numbers_are_those_of_splitmix64() -> None:
    """Of seed 1234567, as others' implementations have them (Rosetta Code, Splitmix64)."""
    found = [int(bits(np.uint64(1234567), np.uint64(number))) for number in range(1, 6)]
    assert found == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("bound", [1, 2, 3, 1000])
def test_each_number_below_a_bound_has_its_share_of_the_bits(bound: int) -> None:
    for number in range(bound):  # the first and the last of the bits that make it
        first, end = (-(-n * 2**32 // bound) << 32 for n in (number, number + 1))
        assert below(bound, np.uint64(first)) == below(bound, np.uint64(end - 1)) == number


@pytest.mark.parametrize("bound", [2, 3, 7])
def test_two_different_numbers_are_every_ordered_pair_once(bound: int) -> None:
    def middles(of: int) -> list[np.uint64]:
        return [np.uint64((2 * n + 1) * 2**63 // of) for n in range(of)]

    pairs = [two_below(bound, a, b) for a, b in product(middles(bound), middles(bound - 1))]
    assert sorted(pairs) == [pair for pair in product(range(bound), repeat=2) if pair[0] != pair[1]]
