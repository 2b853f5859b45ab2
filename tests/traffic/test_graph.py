"""Graphs of flows: what is refused before anything runs, and what is made of them."""

import numpy as np
import pytest

from record.completion import completed
from tests.traffic.graphs import graph
from traffic.graph import MAX_EDGES, MAX_NODES, bounded
from traffic.workload import connections

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
    with pytest.raises(ValueError, match=says) as told:
        graph(*rows, edges=edges)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("size", [(MAX_NODES + 1, 0), (1, MAX_EDGES + 1)])
def test_a_graph_that_is_too_large_is_told_before_it_is_made(size):
    with pytest.raises(ValueError, match="GB in memory"):
        bounded("mine", *size)
    bounded("mine", MAX_NODES, MAX_EDGES)


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
    found = completed(two_steps, start, end, 1.0)  # the fourth flow is none of the graph's
    assert (found.flows, found.ended, found.completion_s, found.steps) == (3, 3, 5.0, 2)
    assert (found.slowest_step, found.slowest_step_s, found.longest_flow_s) == (0, 3.0, 2.5)
    cut = completed(two_steps, np.array([0.0, 0.5, np.nan]), np.array([1.0, np.nan, np.nan]), 1.0)
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


def test_each_sub_flow_is_a_connection():
    found = graph((0, 1, 10, 0.0), (0, 1, 7, 0.0), edges=[(1, 0)]).split(2)
    pairs, number = connections(found)
    assert [pair.tolist() for pair in pairs] == [[0, 0], [1, 1]]
    assert number.tolist() == [0, 0, 1, 1, -1]
