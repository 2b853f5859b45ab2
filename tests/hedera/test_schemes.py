import subprocess
import sys

import pytest

from hedera.hashes import parse_hash
from hedera.schemes import find_file, find_hash, find_scheme, with_hash
from record.spec import Experiment
from simulator.config import Config
from topos.fattree import FatTree


def test_what_one_backend_alone_has_is_refused_by_the_others():
    with pytest.raises(ValueError, match="scheme 'planned' is for the simulator only"):
        Experiment("planned", "stride:4")
    with pytest.raises(ValueError, match="scheme 'flowlet:500' is for emulation only"):
        Config("flowlet:500", "stride:4")


def test_flowlets_are_spelled_with_their_gap():
    found = [Experiment(name, "stride:4").chosen for name in ("flowlet:500", "flowlet:0", "flowlet:16777215", "spray")]
    assert [(one.gap_us, one.sprays) for one in found] == [(500, False), (0, True), (16777215, False), (0, True)]
    for wrong in ("flowlet", "flowlet:", "flowlet:-1", "flowlet:1.5", "flowlet:16777216", "flowlet:500-x4"):
        with pytest.raises(ValueError, match="there is no scheme"):
            find_scheme(wrong)


def test_sub_flows_are_spelled_behind_the_scheme():
    found = find_scheme("hedera-clos-x16")
    assert (found.name, found.subflows) == ("hedera-clos-x16", 16)
    assert type(found.placement(FatTree(4), 1)).__name__ == "ClosColouring"
    for wrong in ("ecmp-x1", "ecmp-x65", "nonblocking-x4", "spray-x4"):
        with pytest.raises(ValueError, match="from 2 to 64 sub-flows"):
            find_scheme(wrong)
    with pytest.raises(ValueError, match="no scheme 'edmp-x4'"):
        find_scheme("edmp-x4")


def test_a_hash_is_spelled_behind_the_scheme():
    found = find_scheme("hedera-gff@unsalted:edge-pair")
    routing, same = found.routing(FatTree(4), 3), find_scheme("ecmp@unsalted:edge-pair").routing(FatTree(4), 3)
    assert str(routing.hash) == str(found.hash) == "unsalted:edge-pair"
    flows = [0, 1, 2, 3], [4, 9, 14, 8], 40000, 5001
    assert routing.cores(*flows).tolist() == same.cores(*flows).tolist(), "Hedera begins where ECMP stays"
    assert type(found.placement(FatTree(4), 1)).__name__ == "GlobalFirstFit"
    assert found.hidden
    names = ("ecmp", "ecmp-dst", "ecmp-polarized", "spanning-tree", "spray")
    assert [str(find_scheme(name).hash) for name in names] == [
        "salted:5-tuple", "salted:destination", "unsalted:5-tuple", "None", "None",
    ]  # fmt: skip
    assert find_scheme("ecmp-polarized@crc16:destination").hash == parse_hash("crc16:destination")


def test_the_option_gives_all_that_hash_another_hash():
    names = ("nonblocking", "ecmp", "ecmp-dst", "spanning-tree", "hedera-sa", "ecmp@xor:addresses")
    assert [with_hash(name, "crc32:5-tuple", others=True) for name in names] == [
        "nonblocking", "ecmp@crc32:5-tuple", "ecmp-dst", "spanning-tree", "hedera-sa@crc32:5-tuple",
        "ecmp@xor:addresses",
    ]  # fmt: skip
    assert [with_hash(name, None) for name in names] == list(names)


@pytest.mark.parametrize(
    ("name", "hash", "why"),
    [
        ("spanning-tree", "crc32:5-tuple", "chooses no path by a hash"),
        ("ecmp-dst", "crc32:5-tuple", "has a hash of its own"),
        ("ecmp@crc32:5-tuple", "crc32:5-tuple", "has a hash of its own"),
        ("ecmp-polarized", "linux:5-tuple", "one hash for all switches, and linux:5-tuple has a salt for each"),
        ("ecmp", "md5:5-tuple", "there is no hash 'md5:5-tuple'"),
        ("ecmp", "crc32:everything", "crc32 is of 5-tuple, addresses, destination or edge-pair"),
        ("edmp", "crc32:5-tuple", "there is no scheme 'edmp'"),
    ],
)
def test_a_hash_that_a_scheme_cannot_have_is_refused(name, hash, why):
    with pytest.raises(ValueError, match=why):
        with_hash(name, hash)


def test_a_scheduler_of_ones_own_begins_on_the_paths_of_another_hash(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n    def __init__(self, tree, rng, options): pass\n"
        "    def place(self, flows, links): return flows.core\n"
    )
    found = find_scheme(f"{file}:Mine@unsalted:destination")
    assert found.absolute == f"{file}:Mine@unsalted:destination"
    assert str(found.routing(FatTree(4), 1).hash) == "unsalted:destination"
    assert find_file(found.name) == file
    assert find_hash(f"{file}:Mine@unsalted:destination") == found.hash
    assert find_hash(f"{file}:Mine") is None


def test_names_alone_cost_no_heavy_import():
    code = "import sys, hedera.schemes; print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
