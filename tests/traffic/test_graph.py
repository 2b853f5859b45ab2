import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.completion_times import summarise_collective
from tests.refused import refused
from tests.traffic.graphs import graph
from topos.fattree import FatTree
from traffic.collectives import make_collective
from traffic.flows import NOBODY, WAITS
from traffic.graph import MAX_EDGES, MAX_NODES, check_size, list_ranks
from traffic.workload import make_workload

ROW = (0, 1, 10, 0.0)


def test_levels_are_those_of_the_longest_way():
    found = graph(*[ROW] * 5, edges=[(1, 0), (2, 1), (3, 0), (3, 2)])
    assert found.level.tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize(
    ("rows", "edges", "says"),
    [
        ([], [], "has no flow"),
        ([ROW, ROW, ROW], [(0, 1), (1, 0)], "wait for each other in a circle"),
        ([ROW], [(0, 0)], "wait for each other in a circle"),
        ([(0, 1, 10, float("nan"))], [], "has a delay that makes no sense"),
        ([(0, 1, 10, 1e9)], [], "has a delay that makes no sense"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(rows, edges, says):
    with refused(says):
        graph(*rows, edges=edges)


@pytest.mark.parametrize("size", [(MAX_NODES + 1, 0), (1, MAX_EDGES + 1)])
def test_a_graph_that_is_too_large_is_told_before_it_is_made(size):
    with pytest.raises(ValueError, match="GB in memory"):
        check_size("mine", *size)
    check_size("mine", MAX_NODES, MAX_EDGES)


def test_a_host_begins_again_when_all_that_it_sends_and_gets_is_done():
    # 0 sends to 1, and 1 to 2: host 0 needs not wait for the second flow, the others do.
    once = graph((0, 1, 10, 0.0), (1, 2, 10, 0.0), edges=[(1, 0)])
    twice = once.repeated(2, 0.5)
    assert len(twice) == 2 * (3 + 2)
    waits_for = {n: set(twice.before[twice.waiting == n].tolist()) for n in range(len(twice))}
    # Nodes 0 to 2 compute at hosts 0 to 2, 3 and 4 are the flows; then the same from 5 on.
    assert waits_for == {
        0: set(), 1: set(), 2: set(), 3: {0}, 4: {3}, 5: {3}, 6: {4}, 7: {4}, 8: {5}, 9: {8},
    }  # fmt: skip
    assert twice.computes.tolist() == [True] * 3 + [False] * 2 + [True] * 3 + [False] * 2
    assert twice.delay_s[[0, 5]].tolist() == [0.5, 0.5]
    assert once.repeated(1, 0.0) is once


def test_completion_and_the_slowest_step():
    two_steps = graph(ROW, ROW, ROW, edges=[(2, 0), (2, 1)])
    start, end = np.array([0.0, 0.5, 3.0, 9.0]), np.array([1.0, 3.0, 5.0, 10.0])
    found = summarise_collective(two_steps, start, end, 1.0)  # the fourth flow is none of the graph's
    assert (found.flows, found.ended, found.completion_s, found.steps) == (3, 3, 5.0, 2)
    assert (found.slowest_step, found.slowest_step_s, found.longest_flow_s) == (0, 3.0, 2.5)
    cut = summarise_collective(two_steps, np.array([0.0, 0.5, np.nan]), np.array([1.0, np.nan, np.nan]), 1.0)
    assert (cut.ended, cut.completion_s, cut.slowest_step_s, cut.longest_flow_s) == (1, None, None, 1.0)


def test_sub_flows_start_together_and_are_waited_for_together():
    whole = graph((0, 1, 10, 0.5), (1, 2, 7, 0.0), (2, 2, 0, 0.25), edges=[(1, 0), (2, 1)])
    assert whole.split(1) is whole
    found = whole.split(3)
    rows = list(zip(found.src, found.dst, found.size_bytes, found.delay_s, found.lane, strict=True))
    assert rows == [
        (0, 1, 4, 0.5, 0), (1, 2, 3, 0.0, 0), (0, 1, 4, 0.5, 1), (1, 2, 3, 0.0, 1), (0, 1, 4, 0.5, 2),
        (1, 2, 3, 0.0, 2), (2, 2, 0, 0.25, 0), (0, 0, 0, 0.0, 0), (1, 1, 0, 0.0, 0),
    ]  # fmt: skip
    edges = set(zip(found.waiting.tolist(), found.before.tolist(), strict=True))
    assert edges == {(7, 0), (7, 2), (7, 4), (1, 7), (3, 7), (5, 7), (8, 1), (8, 3), (8, 5), (6, 8)}
    assert len(found.waiting) == len(edges)


def carried_out(programs):
    """The nodes in the order in which hosts that do as they are told would end them, told only what is sent."""
    by_host = {one.host: one for one in programs}
    knows = {host: set() for host in by_host}
    order, left = [], {(one.host, step.number): step for one in programs for step in one.steps}
    while True:
        ready = [key for key, step in left.items() if set(step.after) <= knows[key[0]]]
        if not ready:
            assert not left, "somebody waits for ever"
            return order
        for host, number in ready:
            step = left.pop((host, number))
            order.append(number)
            knows[host].add(number)
            if step.connection is not None:
                knows[by_host[host].connections[step.connection][0]].add(number)


def in_order(found, order):
    """Whether no node ended before one that it waits for; computing that takes no time is where it has to be."""
    place = np.argsort(order).tolist()
    needs = [[] for _ in place]
    for waiting, before in zip(found.waiting.tolist(), found.before.tolist(), strict=True):
        needs[waiting].append(before)
    instant = found.computes & (found.delay_s == 0)
    for node in np.flatnonzero(~instant):
        left = list(needs[node])
        while left:
            before = left.pop()
            if instant[before]:
                left += needs[before]
            elif place[before] > place[node]:
                return False
    return True


@pytest.mark.parametrize(
    "spec", ["ring:4,4000", "halving-doubling:8,8000", "all-to-all:4,4000", "pipeline:4,100", "ring:16,1"]
)
@pytest.mark.parametrize(("repeats", "subflows", "compute_s"), [(1, 1, 0.0), (3, 4, 0.0), (2, 1, 0.1)])
def test_collectives_can_be_carried_out_by_hosts_that_know_their_own_flows_alone(spec, repeats, subflows, compute_s):
    work = make_workload(spec, 16, seed=3, seconds=1.0, repeats=repeats, subflows=subflows, compute_s=compute_s)
    programs = list_ranks(work.graph, work.standing.src_port)
    order = carried_out(programs)
    assert sorted(order) == list(range(len(work.graph)))
    assert in_order(work.graph, order)
    assert sum(one.accepts for one in programs) == sum(len(one.connections) for one in programs)
    assert sum(one.expects for one in programs) == (~work.graph.computes).sum()


def test_flows_between_two_hosts_share_a_connection_and_sub_flows_do_not():
    for subflows in (1, 3):
        work = make_workload("ring:4,4000", 4, seconds=1.0, subflows=subflows)
        for one in list_ranks(work.graph, work.standing.src_port):
            assert len(one.connections) == len(set(one.connections)) == subflows
            assert {step.connection for step in one.steps if step.connection is not None} == set(range(subflows))


def test_computing_elsewhere_that_takes_no_time_is_what_it_waits_for():
    nodes = [(0, 1, 100, 0.0), (0, 0, 0, 0.0), (1, 2, 100, 0.0)]
    programs = {
        one.host: one for one in list_ranks(graph(*nodes, edges=[(1, 0), (2, 1)]), np.full(3, 21, dtype=np.int32))
    }
    assert programs[1].steps[0].after == (0,)


def test_what_a_host_cannot_know_is_refused():
    nodes = [(0, 1, 100, 0.0), (2, 3, 100, 0.0)]
    with pytest.raises(ValueError, match="node 1 at host 2 waits for node 0, of which only hosts 0 and 1 know"):
        list_ranks(graph(*nodes, edges=[(1, 0)]), np.full(2, 21, dtype=np.int32))
    nodes = [(0, 0, 0, 1.0), (1, 2, 100, 0.0)]
    with pytest.raises(ValueError, match="node 1 at host 1 waits for node 0"):
        list_ranks(graph(*nodes, edges=[(1, 0)]), np.full(2, 21, dtype=np.int32))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=12), st.data())
def test_any_graph_is_refused_or_can_be_carried_out(ends, data):
    nodes = [(a, b, 0 if a == b else 100, 0.5 if late else 0.0) for a, b, late in ends]
    pairs = st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, len(nodes) - 1)).filter(
        lambda pair: pair[0] > pair[1]
    )
    edges = data.draw(st.lists(pairs, max_size=15, unique=True)) if len(nodes) > 1 else []
    found = graph(*nodes, edges=edges)
    try:
        programs = list_ranks(found, np.arange(21, 21 + len(nodes), dtype=np.int32))
    except ValueError:
        return
    assert in_order(found, carried_out(programs))


def test_a_ring_has_2_n_minus_1_steps_of_a_part_each():
    found = make_collective("ring:4,1000", FatTree(4), 1)
    assert len(found) == 16 * 6
    assert found.level.max() == 5
    assert (found.size_bytes == 250).all()
    assert set(zip(found.src.tolist(), found.dst.tolist(), strict=True)) == {
        (n, n // 4 * 4 + (n + 1) % 4) for n in range(16)
    }
    # Rank 1's second flow waits for its own first one, and for what rank 0 has sent it.
    assert sorted(found.before[found.waiting == 16 + 1].tolist()) == [0, 1]


@pytest.mark.parametrize("group", [2, 8, 16])
def test_halving_and_doubling_sends_what_a_ring_sends(group):
    found = make_collective(f"halving-doubling:{group},16000", FatTree(4), 1)
    assert found.level.max() + 1 == 2 * (group.bit_length() - 1)
    per_host = np.bincount(found.src, weights=found.size_bytes)
    assert per_host.tolist() == [2 * 16000 * (group - 1) / group] * 16
    step_0 = found.level == 0
    assert (found.dst[step_0] == found.src[step_0] ^ group // 2).all()
    assert (found.size_bytes[step_0] == 8000).all()


def test_all_to_all_sends_at_once_and_what_does_not_divide_is_rounded_up():
    found = make_collective("all-to-all:5,1001", FatTree(4), 1)
    assert len(found) == 15 * 4, "the sixteenth host is left over"
    assert (found.level == 0).all()
    assert (found.size_bytes == 201).all()
    assert (found.src // 5 == found.dst // 5).all()


def test_a_pipeline_goes_forward_and_back():
    found = make_collective("pipeline:4,1000", FatTree(4), 1, compute_s=0.25)
    assert len(found) == 4 * 2 * 4 * 3
    first = found.src < 4
    assert found.level[first].max() + 1 == 2 * (3 + 3), "three hops, and three more batches behind the first"
    assert (found.delay_s == 0.25).all()
    assert (abs(found.src - found.dst) == 1).all()


def test_random_placement_is_the_seed_s():
    compact, random = (make_collective("ring:16,1600", FatTree(4), 3, placement=p) for p in ("compact", "random"))
    again, other = (make_collective("ring:16,1600", FatTree(4), seed, placement="random") for seed in (3, 4))
    assert (random.src == again.src).all()
    assert (random.src != other.src).any()
    assert (random.src != compact.src).any()
    assert sorted(random.src[:16].tolist()) == list(range(16))
    assert (random.before == compact.before).all()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("ring:4,0", "write it as ring:GROUP,BYTES"),
        ("ring:1,100", "from 2 to 16 ranks"),
        ("halving-doubling:12,100", "not 12"),
        ("ring:4,1000 + ring:4,1000", "one collective at a time"),
    ],
)
def test_collectives_that_make_no_sense_are_refused(spec, says):
    with refused(says):
        make_workload(spec, FatTree(4), seconds=1.0)


def test_an_all_to_all_of_thousands_is_told_before_it_is_made():
    with pytest.raises(ValueError, match=r"67,100,672 flows .* GB in memory"):
        make_workload("all-to-all:8192,1000000", FatTree(32), seconds=1.0)


def test_in_a_workload_a_graph_s_flows_come_first_and_share_a_port_by_pair():
    work = make_workload("ring:4,1000 + stride:4", FatTree(4), 1, seconds=1.0, repeats=2)
    flows = work.standing
    nodes = len(work.graph)
    assert len(flows) == nodes + 16
    assert (flows.after == NOBODY).all()
    assert ((flows.start_s == WAITS) == (np.append(work.graph.level, np.zeros(16)) > 0)).all()
    sends = np.flatnonzero(~work.graph.computes)
    assert np.unique(flows.src_port[sends] + 65536 * flows.src[sends]).size == 16, "one connection a pair"
    assert flows.src_port.all()
    stride = flows.take(slice(nodes, None))
    assert not set(zip(stride.src.tolist(), stride.src_port.tolist(), strict=True)) & set(
        zip(flows.src[sends].tolist(), flows.src_port[sends].tolist(), strict=True)
    )


def test_turns_beside_a_graph_still_wait_for_their_own():
    work = make_workload("all-to-all:4,1000 + shuffle:100", FatTree(4), 1, seconds=1.0)
    flows, nodes = work.standing, len(work.graph)
    waiting = np.flatnonzero(flows.after != NOBODY)
    assert (waiting >= nodes).all()
    assert (flows.src[flows.after[waiting]] == flows.src[waiting]).all()
    assert (flows.after[waiting] >= nodes).all()
