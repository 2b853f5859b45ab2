"""The communication patterns of Hedera section 6.1, and what later work added, from one-line specs.

A spec is a name, mostly followed by a colon and an argument: ``stride:4``, ``staggered:0.2,0.3``. `draw`
turns one into a `Matrix`; SPELLINGS says what each means. Every decision is one draw from a generator made
from the seed, and a generator of its own decides which flows ``keep`` drops.

Where the paper leaves a pattern open, the published matrices decide (traffic/published.csv):

* ``randx:N``: no host of randx2, randx3 and randx4 sends to the same host twice, which independent draws
  would give with probability 0.33, 0.03 and 0.001. So N distinct receivers, each set equally likely.
* ``hotspot``: the published one has two hosts that receive three flows each, and ten that receive one. So one
  flow per host; H / 8 hot hosts with three senders each; the other senders have a receiver each of their own.
* ``staggered``: independent draws per host, as section 6.1 words it. The six published matrices are
  bijections besides; these are available as ``published:stag0(0.2,0.3)`` and so on.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topos.arrays import Int32
from topos.fattree import FatTree
from topos.network import Network, NonBlocking
from traffic.flowfile import read_listed
from traffic.flows import Matrix, Stream, make_generator

MAX_FLOWS = 2_000_000
"""More flows than this are refused: all-to-all among 27,648 hosts would be 764 million."""

_SENDERS_PER_HOT_HOST = 3
_HOSTS_PER_HOT_HOST = 8
PUBLISHED_HOSTS = 16


@cache
def _load_receivers(whose: str) -> dict[str, tuple[tuple[int, ...], ...]]:
    """For each matrix of the paper (``published``) or the ``replication`` report, the receivers of each host."""
    with Path(__file__).with_name(f"{whose}.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(line for line in file if not line.startswith("#"))
        next(rows)
        return {name: tuple(tuple(int(host) for host in cell.split()) for cell in cells) for name, *cells in rows}


PUBLISHED: tuple[str, ...] = tuple(_load_receivers("published"))
"""The names of the paper's matrices, in the order of Figure 9."""
REPLICATION: tuple[str, ...] = tuple(_load_receivers("replication"))
"""The names of the replication report's: one flow per host (``1x``), two (``2x``), half of six (``6x``)."""


def published(name: str, whose: str = "published") -> Matrix:
    """The flows behind a bar of the paper's Figure 9 or the ``replication`` report (k = 4, 16 hosts), by their senders.
    A host that is its own receiver (the report's ``1xrandbij2``) sends nothing.

    ``name`` is one of PUBLISHED, for example ``stag0(0.2,0.3)``, or of REPLICATION. ValueError, listing the names.
    """
    try:
        receivers = _load_receivers(whose)[name]
    except KeyError:
        raise ValueError(
            f"there is no {whose} traffic matrix {name!r}; the names are {' '.join(_load_receivers(whose))}"
        ) from None
    flows = np.array([(src, dst) for src, hosts in enumerate(receivers) for dst in hosts if src != dst], dtype=np.int32)
    return Matrix(flows[:, 0], flows[:, 1], PUBLISHED_HOSTS, f"{whose}:{name}")


class _Pattern(NamedTuple):
    spelling: str
    meaning: str
    flows: Callable[[str, Network, np.random.Generator], Matrix]


def draw(spec: str, topology: Network | int, seed: int = 0, flows_per_host: int = 1, keep: float = 1.0) -> Matrix:
    """The flows of a pattern.

    ``spec``: one of SPELLINGS. ``topology``: the network, or just its number of hosts.
    ``flows_per_host``: lay this many independent draws of the pattern over each other; a pattern without
    chance in it gives as many parallel flows. ``keep``: of all flows keep this fraction, chosen at random,
    so that hosts have different numbers of flows (the replication report uses 6 per host, half dropped).

    Raises ValueError with one sentence for a spec, a file or an option that makes no sense on this network.
    """
    network = NonBlocking(topology) if isinstance(topology, int) else topology
    if seed < 0:
        raise ValueError(f"a seed is 0 or more, not {seed}")
    if flows_per_host < 1:
        raise ValueError(f"flows per host must be 1 or more, not {flows_per_host}")
    if not 0 < keep <= 1:
        raise ValueError(f"the fraction of flows to keep must be above 0 and at most 1, not {keep}")
    name, argument = _parse(spec)
    rng = make_generator(seed, Stream.PATTERN)
    try:
        first = _PATTERNS[name].flows(argument, network, rng)
        if first.sequential:
            if flows_per_host != 1 or keep != 1:
                raise ValueError(
                    "it fixes the number of flows itself, so 1 flow per host and keep 1 are the only choice"
                )
            return first
        if len(first.src) * flows_per_host > MAX_FLOWS:
            raise ValueError(f"these would be more than {MAX_FLOWS:,} flows on {network.num_hosts:,} hosts")
        draws = [first] + [_PATTERNS[name].flows(argument, network, rng) for _ in range(flows_per_host - 1)]
    except ValueError as error:
        raise ValueError(f"traffic {spec!r}: {error}") from None
    src = np.concatenate([matrix.src for matrix in draws])
    dst = np.concatenate([matrix.dst for matrix in draws])
    if flows_per_host > 1:
        by_sender = np.argsort(src, kind="stable")
        src, dst = src[by_sender], dst[by_sender]
    if keep < 1:
        count = max(1, round(src.size * keep))
        chosen = np.sort(make_generator(seed, Stream.PATTERN, 1).permutation(src.size)[:count])
        src, dst = src[chosen], dst[chosen]
    return Matrix(src, dst, network.num_hosts, spec)


def split_specs(text: str) -> list[str]:
    """The specs of a comma-separated list; a comma before a number stays, as in ``staggered:0.2,.3``."""
    return [spec.strip() for spec in re.split(r",(?!\s*\.?[0-9])", text) if spec.strip()]


def _parse(spec: str) -> tuple[str, str]:
    """The name and the argument of a spec, the latter empty for a pattern that takes none."""
    name, colon, argument = spec.partition(":")
    if name not in _PATTERNS:
        raise ValueError(f"there is no traffic pattern {spec!r}; the patterns are {'  '.join(SPELLINGS)}")
    spelling = _PATTERNS[name].spelling
    if (":" in spelling) != bool(colon) or (colon and not argument):
        raise ValueError(f"traffic {spec!r} is not spelled right: write it as {spelling}")
    return name, argument


def _parse_whole(argument: str, meaning: str, lowest: int, highest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", argument) or not lowest <= int(argument) <= highest:
        raise ValueError(f"it needs {meaning} from {lowest:,} to {highest:,}, not {argument!r}")
    return int(argument)


def _parse_probabilities(argument: str) -> tuple[float, float]:
    parts = argument.split(",")
    if len(parts) != 2 or not all(re.fullmatch(r"\d+(\.\d*)?|\.\d+", part, re.ASCII) for part in parts):
        raise ValueError(f"it needs two probabilities, as in staggered:0.2,0.3, not {argument!r}")
    edge, pod = float(parts[0]), float(parts[1])
    if edge + pod > 1 + 1e-9:
        raise ValueError(f"it needs two probabilities that add up to 1 at most, not to {edge + pod:g}")
    return edge, pod


def _list_hosts(network: Network) -> Int32:
    return np.arange(network.num_hosts, dtype=np.int32)


def _check_flows(flows: int, network: Network) -> None:
    if flows > MAX_FLOWS:
        raise ValueError(f"these would be {flows:,} flows on {network.num_hosts:,} hosts; {MAX_FLOWS:,} is the limit")


def _stride(argument: str, network: Network, _: np.random.Generator) -> Matrix:
    step = _parse_whole(argument, "a stride", 1, network.num_hosts - 1)
    src = _list_hosts(network)
    return Matrix(src, (src + step) % np.int32(network.num_hosts), network.num_hosts)


def _staggered(argument: str, network: Network, rng: np.random.Generator) -> Matrix:
    edge, pod = _parse_probabilities(argument)
    tree = _find_fat_tree(network)
    half, pod_size, total = tree.half, tree.num_cores, tree.num_hosts
    src = _list_hosts(network).astype(np.int64)
    # One draw chooses among the three places. A second draw for those not on the edge switch would leave the
    # pod EDGE * POD too few.
    drawn = rng.random(total)
    on_edge, in_pod = drawn < edge, (drawn >= edge) & (drawn < edge + pod)
    # The receivers of each place form one run of host numbers, with a hole of ``hole`` hosts in it: the host
    # itself, its edge switch, or its pod.
    hole = np.where(on_edge, 1, np.where(in_pod, half, pod_size))
    span = np.where(on_edge, half, np.where(in_pod, pod_size, total))
    start = src // span * span
    dst = start + rng.integers(0, span - hole)
    dst += np.where(dst >= src // hole * hole, hole, 0)
    return Matrix(src.astype(np.int32), dst.astype(np.int32), network.num_hosts)


def _find_fat_tree(network: Network) -> FatTree:
    """The fat-tree of that many hosts: who shares an edge switch and a pod also when all share one switch."""
    if not isinstance(network, FatTree | NonBlocking):
        raise ValueError("it needs the pods of a fat-tree")
    if network.tree.num_hosts != network.num_hosts:
        raise ValueError(f"it needs the number of hosts of a fat-tree (16, 54, 128, 250, ...), not {network.num_hosts}")
    return network.tree


def _random(_: str, network: Network, rng: np.random.Generator) -> Matrix:
    src = _list_hosts(network)
    dst = rng.integers(0, network.num_hosts - 1, network.num_hosts, dtype=np.int32)
    return Matrix(src, dst + (dst >= src), network.num_hosts)


def _randbij(_: str, network: Network, rng: np.random.Generator) -> Matrix:
    src = _list_hosts(network)
    while True:  # about e = 2.7 rounds; each permutation without a fixed point is equally likely
        dst = rng.permutation(src)
        if not (dst == src).any():
            return Matrix(src, dst, network.num_hosts)


def _randx(argument: str, network: Network, rng: np.random.Generator) -> Matrix:
    others = network.num_hosts - 1
    count = _parse_whole(argument, "a number of flows per host", 1, others)
    _check_flows(network.num_hosts * count, network)
    # Floyd's sampling without replacement, for all hosts at once: each set of receivers is equally likely.
    chosen = np.empty((network.num_hosts, count), dtype=np.int32)
    for column, top in enumerate(range(others - count, others)):
        pick = rng.integers(0, top + 1, network.num_hosts, dtype=np.int32)
        taken = (chosen[:, :column] == pick[:, None]).any(axis=1)
        chosen[:, column] = np.where(taken, top, pick)
    src = np.repeat(_list_hosts(network), count)
    dst = np.sort(chosen, axis=1).ravel()
    return Matrix(src, dst + (dst >= src), network.num_hosts)


def _hotspot(_: str, network: Network, rng: np.random.Generator) -> Matrix:
    src = _list_hosts(network)
    hot_hosts = max(1, src.size // _HOSTS_PER_HOT_HOST)
    if src.size <= _SENDERS_PER_HOT_HOST:
        raise ValueError(f"it needs at least {_SENDERS_PER_HOT_HOST + 1} hosts, not {src.size}")
    while True:
        hot, other = np.split(rng.permutation(src), [hot_hosts])
        receivers = np.concatenate([np.repeat(hot, _SENDERS_PER_HOT_HOST), other])[: src.size]
        dst = rng.permutation(receivers)
        if not (dst == src).any():
            return Matrix(src, dst, network.num_hosts)


def _all_to_all(_: str, network: Network, __: np.random.Generator) -> Matrix:
    others = network.num_hosts - 1
    _check_flows(network.num_hosts * others, network)
    src = np.repeat(_list_hosts(network), others)
    dst = np.tile(np.arange(others, dtype=np.int32), network.num_hosts)
    return Matrix(src, dst + (dst >= src), network.num_hosts)


def _shuffle(argument: str, network: Network, rng: np.random.Generator) -> Matrix:
    size = _parse_whole(argument, "a number of bytes", 1, 10**15)
    matrix, others = _all_to_all("", network, rng), network.num_hosts - 1
    order = np.tile(np.arange(others, dtype=np.int32), (network.num_hosts, 1))
    turn = rng.permuted(order, axis=1).ravel()
    by_turn = np.lexsort((turn, matrix.src))
    return replace(
        matrix,
        dst=matrix.dst[by_turn],
        name=f"shuffle:{argument}",
        size_bytes=np.full(len(matrix), size, dtype=np.int64),
        turn=turn[by_turn],
    )


def _published(argument: str, network: Network, _: np.random.Generator, whose: str = "published") -> Matrix:
    matrix = published(argument, whose)
    if network.num_hosts != PUBLISHED_HOSTS:
        raise ValueError(f"this matrix is for {PUBLISHED_HOSTS} hosts (k=4), and this network has {network.num_hosts}")
    return matrix


def _file(argument: str, network: Network, _: np.random.Generator) -> Matrix:
    listed = read_listed(argument, network)
    return Matrix(listed.src, listed.dst, network.num_hosts, f"file:{argument}")


_PATTERNS: dict[str, _Pattern] = {
    pattern.spelling.partition(":")[0]: pattern
    for pattern in (
        _Pattern("stride:I", "host x sends to host (x + I) mod H", _stride),
        _Pattern(
            "staggered:EDGE,POD",
            "to the same edge switch with probability EDGE, elsewhere in the pod with POD, else beyond",
            _staggered,
        ),
        _Pattern("random", "every host sends to any other host", _random),
        _Pattern("randbij", "as random, but every host receives exactly one flow", _randbij),
        _Pattern("randx:N", "every host sends to N different other hosts", _randx),
        _Pattern("hotspot", "one host in eight receives three flows, the rest one at most", _hotspot),
        _Pattern("all-to-all", "every host sends to every other host at once", _all_to_all),
        _Pattern("shuffle:BYTES", "every host sends BYTES to every other host, one after another", _shuffle),
        _Pattern("published:NAME", "a matrix of the paper's Figure 9, such as published:stride4", _published),
        _Pattern(
            "replication:NAME",
            "a workload of the replication report, such as replication:2xrandbij3",
            partial(_published, whose="replication"),
        ),
        _Pattern("file:PATH", "flows from a file: CSV with src_host,dst_host, or load generator lines", _file),
    )
}

NAMES = frozenset(_PATTERNS)
"""The part of a spec before its colon."""

SPELLINGS: dict[str, str] = {pattern.spelling: pattern.meaning for pattern in _PATTERNS.values()}
"""How each pattern is spelled, and what it means."""
