"""What an experiment is, whichever backend carries it out."""

from hedera.experiment import Experiment, phases
from topos.fattree import FatTree
from topos.network import NonBlocking


def test_what_follows_from_its_fields():
    one = Experiment("hedera-sa", "stride:4", seconds=60.0, link_mbps=10.0, iterations=7)
    assert one.network() == one.tree == FatTree(4)
    assert one.capacity_mbps == 160.0
    assert one.window_s == (10.0, 50.0)
    assert one.matrix().dst.tolist() == [(h + 4) % 16 for h in range(16)]
    placement = one.chosen.placement(one.tree, one.seed, one.options)
    assert placement.iterations == 7


def test_the_control_has_the_same_hosts_and_flows_on_another_network():
    control = Experiment("nonblocking", "staggered:0.2,0.3", seed=3)
    assert isinstance(control.network(), NonBlocking)
    assert (control.matrix().dst == Experiment("ecmp", "staggered:0.2,0.3", seed=3).matrix().dst).all()


def test_phases_cut_the_window_and_widen_it_where_they_must():
    assert phases([], (10, 50), 60) == [(10, 50)]
    assert phases([20, 40], (10, 50), 60) == [(10, 20), (20, 40), (40, 50)]
    assert phases([4], (10, 50), 60) == [(2, 4), (4, 50)]
    assert phases([56], (10, 50), 60) == [(10, 56), (56, 58)]
