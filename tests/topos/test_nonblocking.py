import networkx as nx
import pytest

from topos.network import graph
from topos.nonblocking import NonBlocking


def test_every_pair_has_one_path_over_the_switch():
    net = NonBlocking(5)
    made = graph(net)
    for src in range(5):
        for dst in range(5):
            if src != dst:
                path = net.path(src, dst)
                assert nx.is_path(made, path)
                assert path[1] == net.SWITCH


def test_one_host_is_no_network():
    with pytest.raises(ValueError, match="at least 2"):
        NonBlocking(1)
