from hedera.hashes import FIELDS
from plots.style import COLOURS, assign_colours, colour, label_scheme


def test_a_scheme_with_another_hash_is_seen_to_be_one():
    of_ecmp = [colour(f"ecmp@unsalted:{fields}") for fields in FIELDS]
    of_hedera = [colour(f"hedera-sa@unsalted:{fields}") for fields in FIELDS]
    assert len({*of_ecmp, *of_hedera, *COLOURS.values()}) == 2 * len(FIELDS) + len(COLOURS)
    assert all(len(each) == 7 for each in of_ecmp)
    assert label_scheme("ecmp@crc32:addresses") == "ECMP (crc32:addresses)"
    assert label_scheme("mine.py:Mine@crc32:addresses") == "mine.py:Mine@crc32:addresses"


def test_schemes_of_ones_own_have_colours_of_their_own_in_a_picture():
    mine = ["plb.py:Plb", "conga.py:Conga", "plb.py:Plc", "conga.py:Congb"]
    shades = assign_colours([*COLOURS, *mine])
    assert len(set(shades.values())) == len(COLOURS) + len(mine)
    assert all(shades[scheme] == COLOURS[scheme] for scheme in COLOURS)
    assert len(assign_colours([*mine, "one.py:More"])) == 5
