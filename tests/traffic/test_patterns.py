import contextlib
import tracemalloc
from collections import Counter

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refused
from topos.fattree import FatTree
from topos.network import NonBlocking
from traffic.patterns import MAX_FLOWS, PUBLISHED, REPLICATION, draw, published, split_specs

ANY_SPEC = st.sampled_from(
    ["stride:3", "staggered:0.2,0.3", "random", "randbij", "randx:3", "hotspot", "all-to-all", "shuffle:1000"]
)
ONE_PER_HOST = st.sampled_from(["stride:5", "staggered:0.5,0.3", "random", "randbij", "hotspot"])
TREES = st.sampled_from([FatTree(4), FatTree(6), NonBlocking(16), 16])


def places(matrix, tree):
    """How many flows stay on the edge switch, in the pod besides, and leave the pod."""
    edge = matrix.src // tree.half == matrix.dst // tree.half
    pod = matrix.src // tree.num_cores == matrix.dst // tree.num_cores
    return edge.sum(), (pod & ~edge).sum(), (~pod).sum()


@given(spec=ANY_SPEC, network=TREES, seed=st.integers(0, 2**40))
def test_any_pattern_is_a_valid_matrix_and_follows_its_seed(spec, network, seed):
    matrix, again = draw(spec, network, seed), draw(spec, network, seed)
    num_hosts = network if isinstance(network, int) else network.num_hosts
    assert matrix.num_hosts == num_hosts
    assert matrix.name == spec
    assert not (matrix.src == matrix.dst).any()
    assert matrix.src.tolist() == again.src.tolist()
    assert matrix.dst.tolist() == again.dst.tolist()


@given(
    spec=ONE_PER_HOST, seed=st.integers(0, 999), n=st.integers(1, 6), keep=st.sampled_from([1.0, 0.5, 0.25, 0.28, 0.3])
)
def test_flows_per_host_and_keep(spec, seed, n, keep):
    full = draw(spec, 16, seed, flows_per_host=n)
    assert np.bincount(full.src, minlength=16).tolist() == [n] * 16
    some = draw(spec, 16, seed, flows_per_host=n, keep=keep)
    assert len(some) == max(1, round(16 * n * keep))
    pairs = [f"{s}>{d}" for s, d in zip(full.src, full.dst, strict=True)]
    for pair in (f"{s}>{d}" for s, d in zip(some.src, some.dst, strict=True)):
        pairs.remove(pair)  # what is kept was there


def test_the_draws_of_one_seed_stay_what_they_are():
    """Results name a seed, so a seed must mean the same flows on every machine and in every later version."""
    golden = {
        "staggered:0.2,0.3": [2, 13, 11, 2, 14, 4, 7, 5, 15, 7, 8, 5, 14, 14, 15, 14],
        "random": [8, 5, 6, 10, 10, 8, 8, 2, 14, 13, 7, 0, 11, 1, 15, 6],
        "randbij": [9, 0, 1, 7, 10, 14, 15, 8, 12, 2, 13, 6, 11, 5, 4, 3],
        "hotspot": [3, 14, 14, 0, 2, 11, 1, 4, 10, 14, 5, 12, 15, 8, 8, 8],
    }
    assert {spec: draw(spec, 16, seed=1).dst.tolist() for spec in golden} == golden


@given(seed=st.integers(0, 2**32), network=TREES)
def test_randbij_is_a_bijection_without_fixed_points(seed, network):
    matrix = draw("randbij", network, seed)
    assert sorted(matrix.dst.tolist()) == matrix.src.tolist() == list(range(matrix.num_hosts))


@pytest.mark.parametrize(("edge", "pod"), [(0.2, 0.3), (0.5, 0.3), (0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_staggered_probabilities(edge, pod):
    """0.2, 0.3 and 0.5: a conditional second draw would give 0.20, 0.24 and 0.56."""
    tree = FatTree(48)
    counts = places(draw(f"staggered:{edge},{pod}", tree, 7), tree)
    for count, probability in zip(counts, (edge, pod, 1 - edge - pod), strict=True):
        assert scipy.stats.binomtest(int(count), tree.num_hosts, min(max(probability, 0), 1)).pvalue > 0.001


@given(n=st.integers(1, 15), seed=st.integers(0, 999))
def test_randx_has_n_different_receivers(n, seed):
    matrix = draw(f"randx:{n}", 16, seed)
    assert np.bincount(matrix.src).tolist() == [n] * 16
    assert len(set(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))) == 16 * n


@pytest.mark.parametrize(("spec", "hosts", "outcomes"), [("randbij", 4, 9), ("random", 4, 81), ("randx:2", 5, 36)])
def test_each_outcome_is_drawn_equally_often(spec, hosts, outcomes):
    """All derangements of four, and the receivers of the first hosts."""
    seen = Counter(tuple(draw(spec, hosts, seed).dst[:4].tolist()) for seed in range(3600))
    assert len(seen) == outcomes
    assert scipy.stats.chisquare(list(seen.values())).pvalue > 0.001


def test_staggered_chooses_evenly_within_each_place():
    tree = FatTree(4)
    received = np.sum([np.bincount([draw("staggered:0.2,0.3", tree, n).dst[5]], minlength=16) for n in range(3000)], 0)
    # Host 5 shares its edge switch with 4 and its pod with 6 and 7.
    expected = 3000 * np.array([0.5 / 12] * 4 + [0.2, 0, 0.15, 0.15] + [0.5 / 12] * 8)
    assert received[5] == 0
    assert scipy.stats.chisquare(np.delete(received, 5), np.delete(expected, 5)).pvalue > 0.001


@given(seed=st.integers(0, 999), hosts=st.sampled_from([4, 5, 7, 16, 54, 128]))
def test_hotspot_looks_like_the_published_one_with_one_hot_host_at_least(seed, hosts):
    received = np.bincount(draw("hotspot", hosts, seed).dst, minlength=hosts)
    hot = max(1, hosts // 8)
    assert sorted(received.tolist()) == [0] * 2 * hot + [1] * (hosts - 3 * hot) + [3] * hot


def test_all_to_all():
    matrix = draw("all-to-all", 16)
    assert len(set(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))) == len(matrix) == 240


@given(seed=st.integers(0, 999))
def test_shuffle_sends_to_every_other_host_in_an_order_of_its_own(seed):
    matrix = draw("shuffle:500000000", 16, seed)
    assert matrix.size_bytes.tolist() == [500_000_000] * 240
    orders = matrix.dst.reshape(16, 15)
    for host, order in enumerate(orders.tolist()):
        assert sorted(order) == [h for h in range(16) if h != host]
    assert matrix.turn.reshape(16, 15).tolist() == [list(range(15))] * 16
    # Were all hosts to go round alike, each turn would be a bijection without any contention.
    assert any(len(set(turn)) < 16 for turn in orders.T.tolist())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("strid:4", "there is no traffic pattern 'strid:4'; the patterns are"),
        ("stride", "write it as stride:I"),
        ("random:4", "write it as random$"),
        ("stride:0", "from 1 to 15, not '0'"),
        ("stride:٣", "not '٣'"),
        ("staggered:0.2", "two probabilities"),
        ("staggered:0.7,0.301", "add up to 1 at most, not to 1.001"),
        ("shuffle:0", "a number of bytes from 1"),
        ("published:stride3", "the names are stag0"),
    ],
)
def test_a_wrong_spec_gets_one_sentence_that_teaches(spec, message):
    with refused(message):
        draw(spec, FatTree(4))


@given(st.text(max_size=30))
def test_no_spec_does_anything_but_draw_or_raise_value_error(text):
    for spec in (text, "stride:" + text, "staggered:" + text, "published:" + text, "shuffle:" + text):
        with contextlib.suppress(ValueError):
            draw(spec, 16)


@pytest.mark.parametrize(
    ("spec", "network", "options", "message"),
    [
        ("random", 16, {"seed": -1}, "seed is 0 or more"),
        ("random", 16, {"flows_per_host": 0}, "flows per host must be 1 or more"),
        ("random", 16, {"keep": 0}, "above 0 and at most 1"),
        ("random", 16, {"keep": float("nan")}, "above 0 and at most 1"),
        ("shuffle:1000", 16, {"flows_per_host": 2}, "fixes the number of flows itself"),
        ("published:stride4", FatTree(6), {}, r"this matrix is for 16 hosts \(k=4\), and this network has 54"),
        ("staggered:0.2,0.3", 17, {}, "number of hosts of a fat-tree"),
        ("hotspot", 3, {}, "at least 4 hosts"),
    ],
)
def test_options_and_networks_that_a_pattern_does_not_fit(spec, network, options, message):
    with pytest.raises(ValueError, match=message):
        draw(spec, network, **options)


@pytest.fixture
def memory():
    """How much memory has been taken at most, bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("spec", ["all-to-all", "shuffle:1", "randx:27000"])
def test_too_many_flows_are_refused_before_any_memory_is_taken(spec, memory):
    with pytest.raises(ValueError, match=f"{MAX_FLOWS:,} is the limit"):
        draw(spec, FatTree(48))
    assert memory() < 1 << 20


@pytest.mark.parametrize("spec", ["stride:48", "staggered:0.2,0.3", "random", "randbij", "randx:3", "hotspot"])
def test_27648_hosts_take_no_memory_per_pair(spec, memory):
    assert len(draw(spec, FatTree(48), 1)) >= 27_648
    assert memory() < 27_648 * 1000


def test_split_specs_keeps_the_commas_inside_a_spec():
    specs = ["published:stride4", "published:stag0(0.2,0.3)", "staggered:.2,.3", "random", "nonsense:x"]
    assert split_specs(",".join(specs) + ",") == specs
    assert split_specs(" random, hotspot") == ["random", "hotspot"]


# The shares of flows that stay on the edge switch, and in the pod besides.
LOCALITY = {
    "stag0(0.2,0.3)": (5, 4),
    "stag0(0.5,0.3)": (8, 3),
    "stride1": (8, 4),
    "stride2": (0, 8),
    "stride4": (0, 0),
    "rand0": (0, 3),
    "randbij0": (2, 0),
    "hotspot": (1, 0),
}


def test_bijections():
    for name in PUBLISHED:
        bijective = sorted(published(name).dst.tolist()) == list(range(16))
        assert bijective == name.startswith(("stag", "stride", "randbij"))
        if name.startswith("stride"):
            assert published(name).dst.tolist() == draw(f"stride:{name[6:]}", 16).dst.tolist()


def test_locality():
    for name, expected in LOCALITY.items():
        m = published(name)
        edge = m.src // 2 == m.dst // 2
        pod = (m.src // 4 == m.dst // 4) & ~edge
        assert (edge.sum(), pod.sum()) == expected


def test_the_replications_workloads():
    """One flow per host, two, and half of six; of randbij with seed 2 two hosts send to themselves, so nothing."""
    matrices = {name: published(name, "replication") for name in REPLICATION}
    assert len(matrices) == 27
    for name, matrix in matrices.items():
        flows = {"1x": 16, "2x": 32, "6x": 48}[name[:2]]
        assert len(matrix) == flows - 2 * (name == "1xrandbij2")
        assert not (matrix.src == matrix.dst).any()
        assert draw(f"replication:{name}", 16).dst.tolist() == matrix.dst.tolist(), "whatever the seed"
    assert matrices["1xstride4"].dst.tolist() == published("stride4").dst.tolist()
    assert matrices["1xrandbij1"].dst.tolist()[:4] == [1, 13, 9, 14]
    assert sorted(np.bincount(matrices["6xrandom4"].src, minlength=16))[0] < 3, "hosts have different numbers"
