import networkx as nx
import pytest

from topos.fattree import FatTree
from topos.network import graph
from topos.nonblocking import NonBlocking


def test_same_hosts_as_the_fat_tree():
    net, tree = NonBlocking(16), FatTree(4)
    assert net.hosts == tree.hosts
    assert net.host_by_ip == tree.host_by_ip
    assert [net.host_mac(h) for h in range(16)] == [tree.host_mac(h) for h in range(16)]


def test_every_pair_has_one_path_over_the_switch():
    net = NonBlocking(5)
    made = graph(net)
    for src in range(5):
        for dst in range(5):
            if src != dst:
                path = net.path(src, dst)
                assert nx.is_path(made, path)
                assert path[1] == net.SWITCH


def test_host_i_is_on_port_i_plus_1():
    assert [(link.lower, link.upper_port) for link in NonBlocking(4).links()] == [
        (NonBlocking(4).host_name(h), h + 1) for h in range(4)
    ]


def test_one_host_is_no_network():
    with pytest.raises(ValueError, match="at least 2"):
        NonBlocking(1)
