"""What switches hash a flow by: functions as they have them, each from its public source, over fields of its headers.

A function takes the fields as bytes in the network's order, uint8 of shape (flows, bytes), or `Headers`, and gives
uint64 (flows,). Which of n ports a hash means is `pick`. `hedera.hashes` has their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topos.arrays import Int64
from topos.fattree import FatTree
from topos.links import find_edge_numbers
from topos.network import Network

Hashes = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Words = TypeVar("Words", Hashes, np.uint64)
STEP = np.uint64(0x9E3779B97F4A7C15)
"""What SplitMix64's state grows by from one output to the next."""
IPV4, TCP = 0x0800, 6


# --- ours -------------------------------------------------------------------------------------------------------------


def mix(words: ArrayLike) -> Hashes:
    """Scatter 64-bit words so that every input bit changes each output bit with probability near one half.

    An output of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection. Any shape; returns uint64.
    """
    with np.errstate(over="ignore"):
        return np.asarray(scatter(np.asarray(words, dtype=np.uint64) + STEP))


def scatter(x: Words) -> Words:
    """SplitMix64's finaliser, of one word or many; `hedera.compiled` has it for its loops."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw_switch_salts(seed: int, dpids: ArrayLike) -> Hashes:
    """One salt per switch, from the run's seed (any integer) and the switch's datapath id."""
    return mix(mix(seed % 2**64) ^ np.asarray(dpids, dtype=np.uint64))


def hash_five_tuple(
    salt: ArrayLike, src: ArrayLike, dst: ArrayLike, protocol: ArrayLike, src_port: ArrayLike, dst_port: ArrayLike
) -> Hashes:
    """The hash of a flow at a switch with this salt: uint64, all arguments of shape (flows,) or scalars.

    Hosts are given by number, which stands for their address: the two map one to one.
    """
    hosts = _to_words(src) << np.uint64(32) | _to_words(dst)
    ports = _to_words(src_port) << np.uint64(24) | _to_words(dst_port) << np.uint64(8) | _to_words(protocol)
    return mix(mix(hosts ^ _to_words(salt)) ^ ports)


def hash_word(salt: ArrayLike, word: ArrayLike) -> Hashes:
    """The hash of one number, a destination for example, at a switch with this salt."""
    return mix(_to_words(word) ^ _to_words(salt))


def _to_words(values: ArrayLike) -> Hashes:
    return np.asarray(values, dtype=np.uint64)


# --- switches' --------------------------------------------------------------------------------------------------------


def _compute_crc(fields: Bytes, polynomial: int, start: int) -> Hashes:
    """A cyclic redundancy check whose bits are reflected, before its last XOR."""
    table = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        table = (table >> np.uint64(1)) ^ (np.uint64(polynomial) * (table & np.uint64(1)))
    register = np.full(len(fields), start, dtype=np.uint64)
    for column in fields.T:
        register = (register >> np.uint64(8)) ^ table[(register ^ column) & np.uint64(0xFF)]
    return register


def crc32(fields: Bytes, start: int = 0xFFFFFFFF) -> Hashes:
    """CRC-32 of Ethernet (IEEE 802.3), as P4's v1model and switches of its kind have it. ``start``: a switch's seed.

    A CRC is affine: another ``start`` changes the hashes of all flows by the same bits, so that switches with seeds of
    their own still choose alike but for the names of their ports.
    """
    return _compute_crc(fields, 0xEDB88320, start) ^ np.uint64(0xFFFFFFFF)


def crc16(fields: Bytes, start: int = 0) -> Hashes:
    """CRC-16 of polynomial 0x8005 (BISYNC), as P4's v1model and merchant silicon have it: CRC-16/ARC."""
    return _compute_crc(fields, 0xA001, start)


def fold(fields: Bytes) -> Hashes:
    """All bytes XORed into one, as the kernel's bonding driver folds (Documentation/networking/bonding.rst)."""
    return np.bitwise_xor.reduce(fields, axis=1).astype(np.uint64)


MICROSOFT_KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
"""The key of the examples in Microsoft's "Verifying the RSS Hash Calculation", which most drivers begin with."""


def toeplitz(fields: Bytes, key: bytes = MICROSOFT_KEY) -> Hashes:
    """Receive-side scaling's hash: the XOR of the 32 bits of the key that begin at each bit that is set."""
    stream = np.unpackbits(np.frombuffer(key, dtype=np.uint8)).astype(np.uint64)
    places = np.arange(fields.shape[1] * 8)
    windows = (stream[places[:, None] + np.arange(32)] << np.arange(31, -1, -1, dtype=np.uint64)).sum(axis=1)
    bits = np.unpackbits(np.ascontiguousarray(fields), axis=1).astype(bool)
    return np.bitwise_xor.reduce(np.where(bits, windows, np.uint64(0)), axis=1).astype(np.uint64)


_Word = NDArray[np.uint64]


def siphash(keys: tuple[ArrayLike, ArrayLike], message: Bytes) -> Hashes:
    """SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012). ``keys``: its two words, each of (flows,) or one."""
    flows, length = message.shape
    padded = np.zeros((flows, length // 8 * 8 + 8), dtype=np.uint8)
    padded[:, :length] = message
    padded[:, -1] = length & 0xFF
    k0, k1 = (np.broadcast_to(_to_words(key), flows) for key in keys)
    state = [
        k0 ^ np.uint64(0x736F6D6570736575),
        k1 ^ np.uint64(0x646F72616E646F6D),
        k0 ^ np.uint64(0x6C7967656E657261),
        k1 ^ np.uint64(0x7465646279746573),
    ]
    with np.errstate(over="ignore"):
        for word in padded.view("<u8").astype(np.uint64).T:
            state[3] = state[3] ^ word
            _run_sip_rounds(state, 2)
            state[0] = state[0] ^ word
        state[2] = state[2] ^ np.uint64(0xFF)
        _run_sip_rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _run_sip_rounds(state: list[_Word], rounds: int) -> None:
    def rotate(x: _Word, bits: int) -> _Word:
        return np.asarray((x << np.uint64(bits)) | (x >> np.uint64(64 - bits)))

    a, b, c, d = state
    for _ in range(rounds):
        a, c = a + b, c + d
        b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
        a, c = rotate(a, 32) + d, c + b
        b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
        c = rotate(c, 32)
    state[:] = a, b, c, d


class Headers(NamedTuple):
    """What packets say: int64 (flows,) each; addresses and MACs as numbers."""

    src: Int64
    dst: Int64
    src_port: Int64
    dst_port: Int64
    protocol: Int64
    src_mac: Int64
    dst_mac: Int64


def linux(headers: Headers, keys: tuple[ArrayLike, ArrayLike], ports: bool) -> Hashes:
    """Linux's ``fib_multipath_hash`` since 5.14, 31 bits: of both addresses (``fib_multipath_hash_policy`` 0), or with
    ``ports`` of ports and protocol too (1). Addresses, and ports, are in ascending order first, so both directions are
    alike (net/core/flow_dissector.c: ``__flow_hash_consistentify``). ``keys``: SipHash's; drawn at boot, or the
    seed of ``net.ipv4.fib_multipath_hash_seed`` twice in each.
    """
    # As a little-endian machine has them in struct flow_keys from `basic` on: the protocol is its third byte, the ports
    # follow the empty label, VLANs and key, and the addresses come last, after the empty ICMP part.
    message = np.zeros((headers.src.size, 48), dtype=np.uint8)
    if ports:
        message[:, 2] = headers.protocol
        message[:, 28:32] = _order_fields(headers.src_port, headers.dst_port, 2)
    message[:, 36:44] = _order_fields(headers.src, headers.dst, 4)
    short = siphash(keys, message) & np.uint64(0xFFFFFFFF)
    return np.maximum(short, np.uint64(1)) >> np.uint64(1)


def _order_fields(first: Int64, second: Int64, size: int) -> Bytes:
    """Two fields as bytes, (flows, 2 * size): the one that a little-endian machine reads as the smaller one first."""
    both = np.stack([to_bytes(first, size), to_bytes(second, size)], axis=1)
    read = (both.astype(np.int64) << (8 * np.arange(size))).sum(axis=2)
    both = np.take_along_axis(both, read.argsort(axis=1, kind="stable")[:, :, None], axis=1)
    return both.reshape(len(both), 2 * size)


def symmetric_l4(headers: Headers) -> Hashes:
    """Open vSwitch's ``symmetric_l4``, with a basis of 0: Jenkins' lookup3 over what both directions of a flow have
    alike, each pair of fields XORed (lib/flow.c: ``flow_hash_symmetric_l4``; lib/jhash.c)."""
    fields = np.zeros((headers.src.size, 32), dtype=np.uint8)  # the address has the room of an IPv6 one
    fields[:, :4] = to_bytes(headers.src ^ headers.dst, 4)
    fields[:, 16:18] = to_bytes(np.full(headers.src.size, IPV4), 2)
    tcp = headers.protocol == TCP
    fields[:, 20:22] = to_bytes(np.where(tcp, headers.src_port ^ headers.dst_port, 0), 2)
    fields[:, 22:28] = to_bytes(headers.src_mac ^ headers.dst_mac, 6)
    fields[:, 28] = headers.protocol
    return jenkins(fields)


_MIX = ((0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))


def jenkins(fields: Bytes, basis: int = 0) -> Hashes:
    """Bob Jenkins' lookup3 (2006, public domain) as Open vSwitch has it: whole blocks of 12 bytes are mixed, a rest is
    filled with zeros and finished."""
    flows, length = fields.shape
    padded = np.zeros((flows, -(-length // 12) * 12), dtype=np.uint8)
    padded[:, :length] = fields
    blocks = padded.view("<u4").reshape(flows, -1, 3).astype(np.uint32)
    start = np.uint32((0xDEADBEEF + length + basis) & 0xFFFFFFFF)
    state = [np.full(flows, start, dtype=np.uint32) for _ in range(3)]

    def rotate(x: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
        return np.asarray((x << np.uint32(bits)) | (x >> np.uint32(32 - bits)))

    with np.errstate(over="ignore"):
        for number in range(blocks.shape[1]):
            state = [word + blocks[:, number, place] for place, word in enumerate(state)]
            if (number + 1) * 12 <= length:
                for target, taken, other, bits in _MIX:
                    state[target] = (state[target] - state[taken]) ^ rotate(state[taken], bits)
                    state[taken] = state[taken] + state[other]
            else:
                for target, taken, bits in _FINAL:
                    state[target] = (state[target] ^ state[taken]) - rotate(state[taken], bits)
    return state[2].astype(np.uint64)


# --- of a network's flows ---------------------------------------------------------------------------------------------


def to_bytes(values: Int64, size: int) -> Bytes:
    """Numbers in the network's order: uint8 (flows, size)."""
    shifts = 8 * np.arange(size - 1, -1, -1)
    return (np.asarray(values, dtype=np.int64)[:, None] >> shifts & 0xFF).astype(np.uint8)


def list_addresses(topo: Network, hosts: Int64) -> Int64:
    """The addresses of hosts, 10.pod.edge.(position+2), as numbers."""
    tree = topo.tree
    pod, edge, position = hosts // tree.num_cores, hosts // tree.half % tree.half, hosts % tree.half
    return np.asarray(10 << 24 | pod << 16 | edge << 8 | position + 2)


def list_edge_addresses(topo: Network, hosts: Int64) -> Int64:
    """The addresses of hosts' edge switches: 10.pod.edge.1, in a network that has no pods 10.0.switch.1."""
    if isinstance(topo, FatTree):
        return np.asarray(list_addresses(topo, hosts) & ~0xFF | 1)
    return np.asarray(10 << 24 | find_edge_numbers(topo, hosts) << 8 | 1)


def make_headers(topo: Network, flows: Any) -> Headers:
    """What the packets of flows between hosts have (`hedera.routing.FiveTuples`)."""
    src, dst = list_addresses(topo, flows.src), list_addresses(topo, flows.dst)
    # A host's MAC address ends as its IP address does (`topos.fattree.FatTree.host_mac`).
    macs = src & 0xFFFFFF, dst & 0xFFFFFF
    return Headers(src, dst, flows.src_port, flows.dst_port, flows.protocol, *macs)


def select_field_bytes(topo: Network, fields: str, flows: Any) -> Bytes:
    """The fields that are hashed, by their name in `hedera.hashes.FIELDS`, in the order of the headers."""
    if fields == "edge-pair":
        ends = list_edge_addresses(topo, flows.src), list_edge_addresses(topo, flows.dst)
        return np.hstack([to_bytes(end, 4) for end in ends])
    src, dst = (to_bytes(list_addresses(topo, hosts), 4) for hosts in (flows.src, flows.dst))
    if fields == "destination":
        return dst
    if fields == "addresses":
        return np.hstack([src, dst])
    return np.hstack([src, dst, to_bytes(flows.protocol, 1), to_bytes(flows.src_port, 2), to_bytes(flows.dst_port, 2)])


def hash_numbers(topo: Network, fields: str, flows: Any, salt: Hashes) -> Hashes:
    """Our hash of the fields, which has hosts and switches by their numbers."""
    if fields == "5-tuple":
        return hash_five_tuple(salt, flows.src, flows.dst, flows.protocol, flows.src_port, flows.dst_port)
    if fields == "destination":
        return hash_word(salt, flows.dst)
    if fields == "addresses":
        return hash_word(salt, flows.src << 32 | flows.dst)
    src, dst = find_edge_numbers(topo, flows.src), find_edge_numbers(topo, flows.dst)
    edges = int(find_edge_numbers(topo, np.arange(topo.num_hosts)).max()) + 1
    return hash_word(salt, src * edges + dst)


def select_rss_bytes(topo: Network, fields: str, flows: Any) -> Bytes:
    """What receive-side scaling has of a 5-tuple: no protocol."""
    key = select_field_bytes(topo, fields, flows)
    return np.delete(key, 8, axis=1) if fields == "5-tuple" else key


FUNCTIONS: dict[str, Callable[[Network, str, Any, Hashes], Hashes]] = {
    "salted": hash_numbers,
    "unsalted": hash_numbers,
    "crc16": lambda topo, fields, flows, salt: crc16(select_field_bytes(topo, fields, flows)),
    "crc32": lambda topo, fields, flows, salt: crc32(select_field_bytes(topo, fields, flows)),
    "xor": lambda topo, fields, flows, salt: fold(select_field_bytes(topo, fields, flows)),
    "toeplitz": lambda topo, fields, flows, salt: toeplitz(select_rss_bytes(topo, fields, flows)),
    "linux": lambda topo, fields, flows, salt: linux(
        make_headers(topo, flows), (salt, mix(salt)), ports=fields == "5-tuple"
    ),
    "ovs": lambda topo, fields, flows, salt: symmetric_l4(make_headers(topo, flows)),
}
"""By its name in `hedera.hashes.HASHES`: the hash of each flow, given the salt of its switch."""


def pick(function: str, hashes: Hashes, ports: int) -> Hashes:
    """The port of each hash, below ``ports``: the remainder, or as Linux does the threshold below which it is (RFC
    2992, section 2; net/ipv4/fib_semantics.c: ``fib_rebalance``)."""
    if function != "linux":
        return np.asarray(hashes % np.uint64(ports))
    tops = [(2 * 2**31 * (place + 1) + ports) // (2 * ports) - 1 for place in range(ports)]
    return np.searchsorted(np.array(tops, dtype=np.uint64), hashes).astype(np.uint64)
