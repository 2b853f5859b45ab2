"""Programs of hosts: each node of a graph at its host, and nobody waits for what nobody tells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traffic.graphs import graph
from traffic.graph import ranks
from traffic.workload import workload


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
    work = workload(spec, 16, seed=3, seconds=1.0, repeats=repeats, subflows=subflows, compute_s=compute_s)
    programs = ranks(work.graph, work.standing.src_port)
    order = carried_out(programs)
    assert sorted(order) == list(range(len(work.graph)))
    assert in_order(work.graph, order)
    assert sum(one.accepts for one in programs) == sum(len(one.connections) for one in programs)
    assert sum(one.expects for one in programs) == (~work.graph.computes).sum()


def test_flows_between_two_hosts_share_a_connection_and_sub_flows_do_not():
    for subflows in (1, 3):
        work = workload("ring:4,4000", 4, seconds=1.0, subflows=subflows)
        for one in ranks(work.graph, work.standing.src_port):
            assert len(one.connections) == len(set(one.connections)) == subflows
            assert {step.connection for step in one.steps if step.connection is not None} == set(range(subflows))


def test_computing_elsewhere_that_takes_no_time_is_what_it_waits_for():
    nodes = [(0, 1, 100, 0.0), (0, 0, 0, 0.0), (1, 2, 100, 0.0)]
    programs = {one.host: one for one in ranks(graph(*nodes, edges=[(1, 0), (2, 1)]), np.full(3, 21, dtype=np.int32))}
    assert programs[1].steps[0].after == (0,)


def test_what_a_host_cannot_know_is_refused():
    nodes = [(0, 1, 100, 0.0), (2, 3, 100, 0.0)]
    with pytest.raises(ValueError, match="node 1 at host 2 waits for node 0, of which only hosts 0 and 1 know"):
        ranks(graph(*nodes, edges=[(1, 0)]), np.full(2, 21, dtype=np.int32))
    nodes = [(0, 0, 0, 1.0), (1, 2, 100, 0.0)]
    with pytest.raises(ValueError, match="node 1 at host 1 waits for node 0"):
        ranks(graph(*nodes, edges=[(1, 0)]), np.full(2, 21, dtype=np.int32))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=12), st.data())
def test_any_graph_is_refused_or_can_be_carried_out(ends, data):
    nodes = [(a, b, 0 if a == b else 100, 0.5 if late else 0.0) for a, b, late in ends]
    pairs = st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, len(nodes) - 1)).filter(
        lambda pair: pair[0] > pair[1]
    )
    edges = data.draw(st.lists(pairs, max_size=15, unique=True)) if len(nodes) > 1 else []
    found = graph(*nodes, edges=edges)
    try:
        programs = ranks(found, np.arange(21, 21 + len(nodes), dtype=np.int32))
    except ValueError:
        return
    assert in_order(found, carried_out(programs))
