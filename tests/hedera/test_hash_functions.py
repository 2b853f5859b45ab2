"""Known answers of the functions that switches hash by, each from who made it."""

from ipaddress import ip_address

import numpy as np
import pytest

from hedera.hash_functions import (
    FUNCTIONS,
    Headers,
    crc16,
    crc32,
    fold,
    hash_five_tuple,
    jenkins,
    linux,
    make_headers,
    mix,
    pick,
    select_field_bytes,
    select_rss_bytes,
    siphash,
    symmetric_l4,
    toeplitz,
)
from hedera.hashes import HASHES, Hash, parse_hash
from hedera.routing import FiveTuples
from topos.fattree import FatTree
from topos.network import LeafSpine, PlannedNetwork

TREE = FatTree(4)
CHECK = b"123456789"


def rows(*texts):
    return np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(len(texts), -1)


def flows(*of):
    """Flows of (source's name, destination's name, source port), to iperf's port, over TCP."""
    src, dst, port = zip(*((TREE.hosts.index(a), TREE.hosts.index(b), port) for a, b, port in of), strict=True)
    return FiveTuples(*np.broadcast_arrays(*map(np.array, (src, dst, port, 5001, 6))))


def header(src, dst, src_port, dst_port=5001):
    numbers = int(ip_address(src)), int(ip_address(dst)), src_port, dst_port, 6, 0, 0
    return Headers(*(np.array([number]) for number in numbers))


def reverse(of):
    return of._replace(src=of.dst, dst=of.src, src_port=of.dst_port, dst_port=of.src_port)


def test_splitmix64():
    """The first outputs of SplitMix64 seeded with 0, as published with the algorithm's reference code."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([golden * i % 2**64 for i in range(3)], dtype=np.uint64)
    assert [f"{x:016x}" for x in mix(states).tolist()] == ["e220a8397b1dcdaf", "6e789e6aa1b965f4", "06c45d188009454f"]


@pytest.mark.parametrize(("function", "answer"), [(crc32, 0xCBF43926), (crc16, 0xBB3D)])
def test_crc(function, answer):
    """The check values of CRC-32/ISO-HDLC and CRC-16/ARC in Greg Cook's catalogue of parametrised CRC algorithms."""
    assert function(rows(CHECK, CHECK)).tolist() == [answer, answer]


@pytest.mark.parametrize("function", [crc16, crc32])
def test_a_seed_of_its_own_does_not_make_a_crc_choose_otherwise(function):
    """A CRC is affine: what a switch's own seed changes is the same for every flow."""
    fields = np.random.default_rng(1).integers(256, size=(100, 13), dtype=np.uint8)
    changed = function(fields, start=0x1234) ^ function(fields, start=0xABCD)
    assert np.unique(changed).size == 1


def test_bytes_are_folded_into_one():
    """As bonding.rst's `hash = hash XOR (hash RSHIFT 16)`, `hash = hash XOR (hash RSHIFT 8)`, in the lowest byte."""
    word = int.from_bytes(CHECK[:4], "big") ^ int.from_bytes(CHECK[4:8], "big")
    word ^= word >> 16
    word ^= word >> 8
    assert fold(rows(CHECK[:8])).tolist() == [word & 0xFF]


@pytest.mark.parametrize(
    ("source", "destination", "of_addresses", "with_ports"),
    [
        (("66.9.149.187", 2794), ("161.142.100.80", 1766), 0x323E8FC2, 0x51CCC178),
        (("199.92.111.2", 14230), ("65.69.140.83", 4739), 0xD718262A, 0xC626B0EA),
        (("24.19.198.95", 12898), ("12.22.207.184", 38024), 0xD2D0A5DE, 0x5C2B394A),
        (("38.27.205.30", 48228), ("209.142.163.6", 2217), 0x82989176, 0xAFC7327F),
        (("153.39.163.191", 44251), ("202.188.127.2", 1303), 0x5D1809C5, 0x10E828A2),
    ],
)
def test_toeplitz(source, destination, of_addresses, with_ports):
    """Microsoft's "Verifying the RSS Hash Calculation", IPv4."""
    addresses = ip_address(source[0]).packed + ip_address(destination[0]).packed
    ports = source[1].to_bytes(2, "big") + destination[1].to_bytes(2, "big")
    assert toeplitz(rows(addresses)).tolist() == [of_addresses]
    assert toeplitz(rows(addresses + ports)).tolist() == [with_ports]


def test_a_network_card_has_no_protocol_in_its_hash():
    one = flows(("0_0_2", "2_1_3", 40000))
    with_ports = rows(bytes([10, 0, 0, 2, 10, 2, 1, 3]) + (40000).to_bytes(2, "big") + (5001).to_bytes(2, "big"))
    assert (select_rss_bytes(TREE, "5-tuple", one) == with_ports).all()
    assert (select_field_bytes(TREE, "5-tuple", one) == np.insert(with_ports, 8, 6, axis=1)).all()


def test_siphash():
    """The example of the paper's appendix A, and the first two of its authors' vectors."""
    key = 0x0706050403020100, 0x0F0E0D0C0B0A0908
    assert siphash(key, rows(bytes(range(15)))).tolist() == [0xA129CA6149BE45E5]
    assert siphash(key, np.zeros((1, 0), dtype=np.uint8)).tolist() == [0x726FDB47DD0E0E31]
    assert siphash(key, rows(b"\0")).tolist() == [0x74F839C593DC67FD]


LINUX = """
1 1234 2 10.0.0.2 10.2.1.3 40003 0
1 1234 2 10.0.0.2 10.2.0.2 40003 0
1 1234 2 10.0.0.2 10.3.1.3 40003 0
1 1234 2 10.1.1.3 10.3.0.2 40003 0
1 1234 2 10.1.1.3 10.1.0.2 40003 0
0 1234 2 10.0.0.2 10.2.1.3 40003 0
0 1234 2 10.0.0.2 10.2.0.2 40003 0
0 1234 2 10.0.0.2 10.3.1.3 40003 0
0 1234 2 10.1.1.3 10.3.0.2 40003 0
0 1234 2 10.1.1.3 10.1.0.2 40003 1
1 1234 3 10.0.0.2 10.2.1.3 40003 0
1 1234 3 10.0.0.2 10.2.0.2 40003 1
1 1234 3 10.0.0.2 10.3.1.3 40003 0
1 1234 3 10.1.1.3 10.3.0.2 40003 1
1 1234 3 10.1.1.3 10.1.0.2 40003 1
0 77 3 10.0.0.2 10.2.1.3 40003 1
0 77 3 10.0.0.2 10.2.0.2 40003 2
0 77 3 10.0.0.2 10.3.1.3 40003 1
0 77 3 10.1.1.3 10.3.0.2 40003 1
0 77 3 10.1.1.3 10.1.0.2 40003 1
"""


@pytest.mark.parametrize("line", LINUX.split("\n")[1:-1])
def test_linux(line):
    """Of Linux 6.18: policy, seed, next hops, addresses and source port, and the next hop of `ip route get`."""
    policy, seed, hops, src, dst, port, taken = line.split()
    key = int(seed) << 32 | int(seed)  # as net.ipv4.fib_multipath_hash_seed makes it
    for one in (header(src, dst, int(port)), reverse(header(src, dst, int(port)))):
        assert pick("linux", linux(one, (key, key), ports=policy == "1"), int(hops)).tolist() == [int(taken)]


def test_linux_takes_a_threshold_of_31_bits():
    ends = [0, 2**30 - 1, 2**30, 2**31 - 1]
    assert pick("linux", np.array(ends, dtype=np.uint64), 2).tolist() == [0, 0, 1, 1]
    thirds = [715827882, 715827883, 1431655764, 1431655765]
    assert pick("linux", np.array(thirds, dtype=np.uint64), 3).tolist() == [0, 1, 1, 2]
    assert pick("crc32", np.array(thirds, dtype=np.uint64), 3).tolist() == [third % 3 for third in thirds]


def test_open_vswitch():
    """Of Open vSwitch 3.1.0: `ofproto/trace` of multipath(symmetric_l4,0,modulo_n,64,0,NXM_NX_REG0[0..5])."""
    traced = {
        ("0_0_2", "2_1_3", 40000): 0x38,
        ("0_0_2", "2_1_3", 40001): 0x14,
        ("0_0_3", "1_1_2", 40002): 0x22,
        ("3_1_2", "0_0_3", 40003): 0x1A,
        ("2_0_3", "1_0_2", 50001): 0x17,
        ("1_1_3", "3_0_3", 61234): 0x3E,
    }
    some = flows(*traced)
    assert pick("ovs", symmetric_l4(make_headers(TREE, some)), 64).tolist() == list(traced.values())
    assert pick("ovs", symmetric_l4(make_headers(TREE, reverse(some))), 64).tolist() == list(traced.values())


def test_jenkins_takes_a_rest():
    """What lookup3's own driver prints of this text, whose 30 bytes are no whole number of blocks."""
    assert jenkins(rows(b"Four score and seven years ago")).tolist() == [0x17770551]
    assert jenkins(rows(b"Four score and seven years ago"), basis=1).tolist() == [0xCD628161]


def test_fields_do_not_stand_in_for_each_other():
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


EVERY_HASH = [Hash(name, fields) for name, function in HASHES.items() for fields in function.fields]
PORTS = ("src_port", "dst_port")
BLIND = {"addresses": PORTS, "destination": ("src", *PORTS), "edge-pair": PORTS}
"""What makes no difference to a hash of these fields."""


def test_every_name_has_a_function():
    assert list(FUNCTIONS) == list(HASHES)


@pytest.mark.parametrize("hash", EVERY_HASH, ids=str)
@pytest.mark.parametrize("topo", [TREE, PlannedNetwork("leaf-spine:4,2,4", LeafSpine(4, 2, 4))], ids=["tree", "other"])
def test_a_hash_is_of_its_fields_alone(hash, topo):
    draw = np.random.default_rng(3)
    src, dst = draw.integers(16, size=(2, 200))
    base = FiveTuples(src, (src + 1 + dst % 15) % 16, *draw.integers(1024, 65536, size=(2, 200)), np.full(200, 6))

    def hashes(of):
        return FUNCTIONS[hash.function](topo, hash.fields, of, np.full(200, 99, dtype=np.uint64))

    assert np.unique(hashes(base)).size > 1
    for field in FiveTuples._fields[:4]:
        other = draw.permutation(getattr(base, field))
        alike = (hashes(base) == hashes(base._replace(**{field: other}))).all()
        assert alike == (field in BLIND.get(hash.fields, ())), field


def test_neighbours_have_one_pair_of_edge_switches():
    of = flows(("0_0_2", "2_1_3", 1), ("0_0_3", "2_1_2", 2), ("0_1_2", "2_1_2", 2))
    assert select_field_bytes(TREE, "edge-pair", of).tolist() == [
        [10, 0, 0, 1, 10, 2, 1, 1],
        [10, 0, 0, 1, 10, 2, 1, 1],
        [10, 0, 1, 1, 10, 2, 1, 1],
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [("crc99:5-tuple", "a function of salted, "), ("crc32", "crc32 is of 5-tuple, "), ("ovs:addresses", "of 5-tuple")],
)
def test_what_is_no_hash_is_said_in_a_sentence(text, says):
    with pytest.raises(ValueError, match="there is no hash") as error:
        parse_hash(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
