import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refused import refused
from topos.fattree import FatTree
from traffic.flowfile import record_flows
from traffic.flows import LASTING, draw_source_ports, join_flows
from traffic.patterns import draw
from traffic.workload import make_workload

TREE = FatTree(4)


def whole(work):
    return join_flows(list(work.blocks()))


def as_rows(flows):
    return [(f.src, f.dst, f.src_port, f.start_s, f.size_bytes, f.after) for f in flows]


@given(
    spec=st.sampled_from(
        [
            "poisson:web-search,0.4",
            "stride:4 + poisson:fixed:10000,0.2",
            "shuffle:1000 + poisson:data-mining,0.9",
            "poisson:exponential:100000,0.3 to hotspot + poisson:web-search,0.1 to stride:1",
        ]
    ),
    seed=st.integers(0, 2**40),
)
@settings(max_examples=20, deadline=None)
def test_flows_come_in_order_and_every_walk_gives_the_same(spec, seed):
    work = make_workload(spec, TREE, seed, seconds=5.0)
    flows = list(itertools.islice(work, 6000))
    assert flows == list(itertools.islice(work, 6000))
    assert [flow.number for flow in flows] == list(range(len(flows)))
    starts = [flow.start_s for flow in flows if flow.start_s is not None]
    assert starts == sorted(starts)
    assert starts[-1] < 5.0
    assert all(flow.src != flow.dst and 20_000 <= flow.src_port <= 59_999 for flow in flows)
    assert all(flow.start_s is None for flow in flows if flow.after is not None)


def test_a_longer_run_has_the_same_beginning():
    spec = "poisson:web-search,0.5 + poisson:fixed:1000,0.01"
    short, long = (list(make_workload(spec, 16, 3, seconds=s)) for s in (2.0, 4.0))
    assert long[: len(short)] == short
    assert len(long) > len(short)
    assert list(make_workload(spec, 16, 4, seconds=2.0)) != short


@pytest.mark.parametrize("spec", ["stride:4", "published:randx3", "all-to-all"])
def test_a_pattern_alone_is_its_matrix_with_the_ports_it_has_always_had(spec):
    work, matrix = make_workload(spec, 16, 7, seconds=60.0), draw(spec, 16, 7)
    assert work.matrix is not None
    flows = whole(work)
    assert flows.src.tolist() == matrix.src.tolist()
    assert flows.src_port.tolist() == draw_source_ports(matrix.src, 7).tolist()
    assert (flows.size_bytes == LASTING).all()
    assert (flows.start_s == 0).all()
    assert work.expected_flows == len(matrix)


def test_turns_wait_for_each_other():
    work = make_workload("shuffle:5000", 4, 1, seconds=60.0)
    assert work.matrix.sequential
    flows = list(work)
    assert sum(flow.after is None for flow in flows) == 4
    for flow in flows:
        if flow.after is not None:
            assert flows[flow.after].src == flow.src
            assert (flow.start_s, flow.size_bytes) == (None, 5000)
    joined_to_another = list(make_workload("stride:1 + shuffle:5000", 4, 1, seconds=60.0))
    for before, after in zip(flows, joined_to_another[4:], strict=True):
        assert after.after == (None if before.after is None else before.after + 4)


def test_the_load_is_what_was_asked_for():
    work = make_workload("poisson:exponential:50000,0.4", TREE, 1, seconds=50.0, link_mbps=100.0, scale_sizes=False)
    flows = whole(work)
    assert len(flows) == pytest.approx(work.expected_flows, abs=4 * np.sqrt(work.expected_flows))
    per_host = np.bincount(flows.dst, weights=flows.size_bytes, minlength=16) * 8e-6 / 50
    assert per_host.mean() == pytest.approx(40, rel=0.02)
    assert np.bincount(flows.src, minlength=16) == pytest.approx(len(flows) / 16, rel=0.1)
    gaps = np.diff(flows.start_s[flows.src == 5])
    assert scipy.stats.kstest(gaps, "expon", (0, 1 / (0.4 * 100e6 / 8 / 50_000))).pvalue > 0.001
    pairs = np.bincount(flows.src * 16 + flows.dst, minlength=256)
    assert (np.flatnonzero(pairs == 0) == np.arange(16) * 17).all(), "to every other host"


def test_sizes_go_with_the_links_so_that_times_stay():
    fast = whole(make_workload("poisson:fixed:1000000,0.5", 16, 1, seconds=9.0, link_mbps=1000.0))
    slow = whole(make_workload("poisson:fixed:1000000,0.5", 16, 1, seconds=9.0, link_mbps=10.0))
    true = whole(make_workload("poisson:fixed:1000000,0.5", 16, 1, seconds=9.0, link_mbps=10.0, scale_sizes=False))
    assert slow.start_s.tolist() == fast.start_s.tolist()
    assert set(slow.size_bytes) == {10_000}
    assert set(true.size_bytes) == {1_000_000}
    assert len(true) == pytest.approx(len(fast) / 100, rel=0.3)


def test_receivers_by_a_pattern():
    flows = whole(make_workload("poisson:fixed:100000,0.5 to staggered:0.5,0.3", TREE, 2, seconds=3.0))
    matrix = draw("staggered:0.5,0.3", TREE, 2)
    assert {(s, d) for s, d in zip(flows.src, flows.dst, strict=True)} == set(zip(matrix.src, matrix.dst, strict=True))


def test_a_host_uses_all_its_ports_before_one_comes_back():
    flows = whole(make_workload("poisson:fixed:100,1 to stride:1", 2, 1, seconds=0.2))
    ports = flows.src_port[flows.src == 0]
    assert ports.size > 80_000
    assert len(set(ports[:40_000].tolist())) == 40_000
    assert ports[40_000:80_000].tolist() == ports[:40_000].tolist()
    assert abs(np.diff(ports[:40_000])).mean() > 5000, "in a random order"


def test_flows_that_last_keep_their_ports_to_themselves():
    flows = whole(make_workload("stride:1 + poisson:fixed:100,1", 4, 1, seconds=0.1))
    lasting = flows.size_bytes == LASTING
    assert lasting.sum() == 4
    assert flows.src_port[lasting].max() < 40_000 <= flows.src_port[~lasting].min()


def test_starts_and_sizes_from_a_file(tmp_path):
    path = tmp_path / "flows.csv"
    path.write_text("src_host,dst_host,size_bytes,start_s\n0,4,1000,2.5\n1,5,,1\n2,6,0,0\n3,7,77,9.5\n")
    work = make_workload(f"file:{path}", TREE, 1, seconds=5.0)
    assert work.matrix is None
    assert work.expected_flows == 3, "the last one starts after the end"
    assert [row[:2] + row[3:] for row in as_rows(work)] == [
        (2, 6, 0.0, None, None),
        (1, 5, 1.0, None, None),
        (0, 4, 2.5, 1000, None),
    ]
    with pytest.raises(ValueError, match="1 flow per host and keep 1"):
        make_workload(f"file:{path}", TREE, 1, seconds=5.0, flows_per_host=2)


def test_a_recorded_workload_is_the_same_workload(tmp_path):
    work = make_workload("stride:4 + poisson:web-search,0.3", TREE, 2, seconds=2.0)
    path = tmp_path / "flows.csv"
    path.write_text(record_flows(work.blocks()))
    again = make_workload(f"file:{path}", TREE, 2, seconds=2.0)
    assert list(again) == list(work), "ports too"
    with pytest.raises(ValueError, match="take turns"):
        record_flows(make_workload("shuffle:5", TREE, 2, seconds=2.0).blocks())


def test_a_file_without_times_is_a_pattern(tmp_path):
    path = tmp_path / "flows"
    path.write_text("10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0\n")
    assert make_workload(f"file:{path}", TREE, 1, seconds=5.0).matrix.name == f"file:{path}"
    path.write_text("10.0.0.2 10.1.0.2 5001 tcp 1 0.5 60.0 4000\n")
    assert as_rows(make_workload(f"file:{path}", TREE, 1, seconds=5.0))[0][3:] == (0.5, 4000, None)


def test_what_is_long_is_not_made_beforehand():
    work = make_workload("poisson:fixed:1,1", 8192, 1, seconds=1e6)
    assert work.expected_flows > 1e15
    assert [flow.number for flow in itertools.islice(work, 3)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("poisson:web,0.5", "there is no law of flow sizes 'web'"),
        ("poisson:web-search,0", "above 0 and at most 1, not 0"),
        ("poisson:web-search,much", "not 'much'"),
        ("poisson:web-search", "it is spelled poisson:SIZES,LOAD"),
        ("poisson:web-search,0.5 to nowhere", "there is no traffic pattern 'nowhere'"),
        ("poisson:web-search,0.5 to shuffle:9", "takes turns"),
        ("stride:4 + strife:1", "there is no traffic pattern 'strife:1' .did you mean stride"),
    ],
)
def test_mistakes_are_told_before_anything_is_drawn(spec, message):
    with refused(message):
        make_workload(spec, TREE, seconds=5.0)
