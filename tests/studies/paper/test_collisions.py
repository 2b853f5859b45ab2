import numpy as np
import pytest

from studies.paper.figure_3 import MODELS, max_min_loss, random_flows, worst_link_loss
from topos.fattree import FatTree
from topos.links import path_links


def plain_worst_link_loss(tree, flows_per_host, seed):
    """The same, from arrays of all flows and the project's own paths."""
    src, dst, core = random_flows(tree, flows_per_host, seed)
    inner = path_links(tree, src, dst, core)[:, 1:5]
    load = np.bincount(inner[inner >= 0], minlength=6 * tree.num_hosts) / flows_per_host
    factor = np.append(np.minimum(1, 1 / np.maximum(load, 1)), 1.0)  # -1 picks the last
    return 1 - factor[inner].min(axis=1).mean()


@pytest.mark.parametrize("k", [4, 8])
@pytest.mark.parametrize("flows", [1, 7])
def test_the_compiled_model_agrees_with_a_plain_one(k, flows):
    tree = FatTree(k)
    assert worst_link_loss(tree, flows, 5) == pytest.approx(plain_worst_link_loss(tree, flows, 5))


def test_flows_are_random_and_never_go_to_their_own_host():
    tree = FatTree(8)
    src, dst, core = random_flows(tree, 500, 3)
    assert (src == np.repeat(np.arange(128), 500)).all()
    assert (src != dst).all()
    assert np.bincount(dst, minlength=128) == pytest.approx(500, abs=6 * 500**0.5)
    assert np.bincount(core, minlength=16) == pytest.approx(4000, abs=6 * 4000**0.5)


@pytest.mark.parametrize("model", MODELS)
def test_more_flows_lose_less(model):
    losses = [MODELS[model](FatTree(16), flows, 1) for flows in (1, 4, 16)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 0.4


def test_sharing_what_others_leave_loses_less():
    tree = FatTree(16)
    assert max_min_loss(tree, 4, 1) < worst_link_loss(tree, 4, 1)


def test_seeds_draw_anew():
    assert worst_link_loss(FatTree(8), 1, 1) != worst_link_loss(FatTree(8), 1, 2)


def test_the_papers_size_comes_near_its_number():
    assert 100 * worst_link_loss(FatTree(48), 1, 1) == pytest.approx(60.8, abs=2.5)
    assert 2.5 < 100 * worst_link_loss(FatTree(48), 100, 1) < 20
