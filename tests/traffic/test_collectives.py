"""The graphs of collectives: who sends what to whom, and after what."""

import numpy as np
import pytest

from topos.fattree import FatTree
from traffic.collectives import collective
from traffic.flows import NOBODY, WAITS
from traffic.workload import workload


def test_a_ring_has_2_n_minus_1_steps_of_a_part_each():
    found = collective("ring:4,1000", FatTree(4), 1)
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
    found = collective(f"halving-doubling:{group},16000", FatTree(4), 1)
    assert found.level.max() + 1 == 2 * (group.bit_length() - 1)
    per_host = np.bincount(found.src, weights=found.size_bytes)
    assert per_host.tolist() == [2 * 16000 * (group - 1) / group] * 16
    step_0 = found.level == 0
    assert (found.dst[step_0] == found.src[step_0] ^ group // 2).all()
    assert (found.size_bytes[step_0] == 8000).all()


def test_all_to_all_sends_at_once_and_what_does_not_divide_is_rounded_up():
    found = collective("all-to-all:5,1001", FatTree(4), 1)
    assert len(found) == 15 * 4, "the sixteenth host is left over"
    assert (found.level == 0).all()
    assert (found.size_bytes == 201).all()
    assert (found.src // 5 == found.dst // 5).all()


def test_a_pipeline_goes_forward_and_back():
    found = collective("pipeline:4,1000", FatTree(4), 1, compute_s=0.25)
    assert len(found) == 4 * 2 * 4 * 3
    first = found.src < 4
    assert found.level[first].max() + 1 == 2 * (3 + 3), "three hops, and three more batches behind the first"
    assert (found.delay_s == 0.25).all()
    assert (abs(found.src - found.dst) == 1).all()


def test_random_placement_is_the_seed_s():
    compact, random = (collective("ring:16,1600", FatTree(4), 3, placement=p) for p in ("compact", "random"))
    again, other = (collective("ring:16,1600", FatTree(4), seed, placement="random") for seed in (3, 4))
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
def test_what_makes_no_sense_is_refused_in_one_sentence(spec, says):
    with pytest.raises(ValueError, match=says) as told:
        workload(spec, FatTree(4), seconds=1.0)
    assert "\n" not in str(told.value)


def test_an_all_to_all_of_thousands_is_told_before_it_is_made():
    with pytest.raises(ValueError, match=r"67,100,672 flows .* GB in memory"):
        workload("all-to-all:8192,1000000", FatTree(32), seconds=1.0)


def test_in_a_workload_a_graph_s_flows_come_first_and_share_a_port_by_pair():
    work = workload("ring:4,1000 + stride:4", FatTree(4), 1, seconds=1.0, repeats=2)
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
    work = workload("all-to-all:4,1000 + shuffle:100", FatTree(4), 1, seconds=1.0)
    flows, nodes = work.standing, len(work.graph)
    waiting = np.flatnonzero(flows.after != NOBODY)
    assert (waiting >= nodes).all()
    assert (flows.src[flows.after[waiting]] == flows.src[waiting]).all()
    assert (flows.after[waiting] >= nodes).all()
