from __future__ import annotations

import numpy as np

from hedera.hashing import hash_five_tuple, hash_word, mix, switch_salts


def test_splitmix64_known_answers() -> None:
    """The first outputs of SplitMix64 seeded with 0, as published with the algorithm's reference code."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([golden * i % 2**64 for i in range(3)], dtype=np.uint64)
    assert [f"{x:016x}" for x in mix(states).tolist()] == ["e220a8397b1dcdaf", "6e789e6aa1b965f4", "06c45d188009454f"]


def test_fields_do_not_stand_in_for_each_other() -> None:
    fields = [3, 4, 6, 5000, 5001]
    hashes = {int(hash_five_tuple(1, *fields))}
    for i, j in ((0, 1), (3, 4)):
        swapped = list(fields)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        hashes.add(int(hash_five_tuple(1, *swapped)))
    for i in range(5):
        changed = list(fields)
        changed[i] += 1
        hashes.add(int(hash_five_tuple(1, *changed)))
    hashes.add(int(hash_five_tuple(2, *fields)))
    assert len(hashes) == 9


def test_salts_depend_on_switch_and_seed() -> None:
    salts = np.concatenate([switch_salts(seed, np.arange(1000)) for seed in (0, 1, -1)])
    assert np.unique(salts).size == 3000
    assert np.unique(hash_word(salts, 5)).size == 3000
