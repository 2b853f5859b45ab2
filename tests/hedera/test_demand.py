import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedera.demand import estimate_demands
from tests.classroom.solutions.demand import estimate_demands as plain_demands
from tests.hedera.reference import nic_max_min

# The example of Figure 4: H0 sends to H1, H2, H3; H1 twice to H0 and to H2; H2 to H0 and H3; H3 twice to H1.
FIGURE_4 = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)]
FIGURE_4_DEMANDS = [1 / 3] * 7 + [2 / 3] + [1 / 3] * 2


@st.composite
def flow_lists(draw):
    """Up to 30 flows among 2 to 8 hosts, with several per pair, hosts without any, and no self-flows."""
    hosts = draw(st.integers(2, 8))
    pair = st.tuples(st.integers(0, hosts - 1), st.integers(1, hosts - 1))
    drawn = draw(st.lists(pair, max_size=30))
    return [(s, (s + step) % hosts) for s, step in drawn], hosts


def estimate(flows, hosts):
    return estimate_demands([s for s, _ in flows], [d for _, d in flows], hosts)


def figure_7(flows, hosts):
    return plain_demands(np.array([s for s, _ in flows]), np.array([d for _, d in flows]), hosts)


def test_figure_4():
    assert estimate(FIGURE_4, 4) == pytest.approx(FIGURE_4_DEMANDS)


# One pass of EST-SRC and EST-DST gets Figure 4 wrong. Here H0 receives from H1, which sends to six hosts, H2, which
# sends to three, and H3 (limits 1/6, 1/3 and none): EST-DST has to take flows out of the limited ones twice.
TWO_LIMITS = [(1, 0), (2, 0), (3, 0), *((1, d) for d in range(2, 7)), (2, 4), (2, 5)]


@pytest.mark.parametrize("method", [estimate, figure_7])
def test_is_not_cut_short(method):
    found = method(TWO_LIMITS, 7)
    assert found == pytest.approx([1 / 6, 1 / 3, 1 / 2, *[1 / 6] * 5, *[1 / 3] * 2])


@settings(max_examples=300, deadline=None)
@given(flow_lists())
@example((FIGURE_4, 4))
def test_is_the_fixed_point_of_figure_7(case):
    flows, hosts = case
    assert estimate(flows, hosts) == pytest.approx(figure_7(flows, hosts), abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(flow_lists())
def test_is_max_min_fair_on_a_non_blocking_switch(case):
    flows, hosts = case
    exact = [float(rate) for rate in nic_max_min(flows, hosts)]
    assert (demand := estimate(flows, hosts)) == pytest.approx(exact, abs=1e-12)
    for end in zip(*flows, strict=True):
        assert np.bincount(end, weights=demand, minlength=hosts).max() <= 1.0, "to the last bit"


@settings(max_examples=200, deadline=None)
@given(flow_lists(), st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(case, random):
    flows, hosts = case
    order = np.random.default_rng(random.getrandbits(32)).permutation(len(flows))
    name = np.random.default_rng(random.getrandbits(32)).permutation(hosts)
    renamed = [(int(name[flows[f][0]]), int(name[flows[f][1]])) for f in order]
    assert (estimate(renamed, hosts) == estimate(flows, hosts)[order]).all()  # to the last bit


def test_integers_do_not_round_demands_to_zero():
    src, dst = np.array([[0, 0], [1, 2]], dtype=np.int64)
    assert estimate_demands(src, dst, 3).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("hosts", "flows"), [(1024, 5000), (128, 20_000)])
def test_large_random_input_is_max_min_fair(hosts, flows):
    """Every flow has a NIC that is full and gives no other flow more: that is what max-min fair means."""
    rng = np.random.default_rng(1)
    src = rng.integers(0, hosts, flows)
    dst = (src + rng.integers(1, hosts, flows)) % hosts
    demand = estimate_demands(src, dst, hosts)
    bottlenecked = np.zeros(flows, dtype=bool)
    for end in (src, dst):
        total = np.bincount(end, weights=demand, minlength=hosts)
        largest = np.zeros(hosts)
        np.maximum.at(largest, end, demand)
        bottlenecked |= (total[end] > 1 - 1e-9) & (demand > largest[end] - 1e-9)
    assert bottlenecked.all()


def test_bad_input():
    with pytest.raises(ValueError, match="one length"):
        estimate_demands([0, 1], [1], 2)
    with pytest.raises(ValueError, match="one length"):
        estimate_demands([0], [1, 0], 2)
    for src, dst in ((0, 2), (2, 0), (-1, 1), (1, -1)):
        with pytest.raises(IndexError, match="not one of the 2 hosts"):
            estimate_demands([src], [dst], 2)
