import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topos.fattree import FatTree
from traffic.flows import Stream, draw_source_ports, make_generator
from traffic.patterns import draw


@given(seed=st.integers(0, 2**40), spec=st.sampled_from(["stride:4", "all-to-all", "published:randx4"]))
def test_ports_are_in_range_and_unique_per_host(seed, spec):
    matrix = draw(spec, 16)
    ports = draw_source_ports(matrix.src, seed)
    assert ports.dtype == np.int32
    assert ports.min() >= 20_000
    assert ports.max() <= 59_999
    assert len(set(zip(matrix.src.tolist(), ports.tolist(), strict=True))) == len(matrix)
    assert ports.tolist() == draw_source_ports(matrix.src, seed).tolist()


def test_ports_of_one_seed_stay_what_they_are():
    assert draw_source_ports(draw("stride:4", 16).src, 1)[:4].tolist() == [45730, 37936, 57536, 37235]


def test_clashes_are_redrawn_when_half_the_range_is_taken():
    flows = 20_000
    assert len(set(draw_source_ports(np.zeros(flows, dtype=np.int32), 3).tolist())) == flows
    with pytest.raises(ValueError, match="source ports for 20000 only"):
        draw_source_ports(np.zeros(flows + 1, dtype=np.int32), 3)


def test_ports_are_spread_and_not_consecutive():
    ports = np.sort(draw_source_ports(draw("random", FatTree(16)).src, 5))
    quarters = np.histogram(ports, bins=4, range=(20_000, 60_000))[0]
    assert (quarters > 180).all()  # 256 of 1,024 expected in each


def test_streams_of_a_seed_are_what_they_have_always_been():
    """Whoever changes a number changes the flows and paths of every seed, those of committed results among them."""
    names = "PATTERN SOURCE_PORTS SIMULATED_ARRIVALS PLACEMENT POISSON PORT_CYCLE OWN_PATTERN RANKS STARTS"
    assert [(stream.name, stream.value) for stream in Stream] == list(zip(names.split(), range(1, 10), strict=True))
    expected = np.random.default_rng((8, 5, 2)).integers(1 << 60, size=4)
    assert make_generator(8, Stream.POISSON, 2).integers(1 << 60, size=4).tolist() == expected.tolist()
