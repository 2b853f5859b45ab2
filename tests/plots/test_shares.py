import pytest

from plots.load import load_sweep
from plots.shares import Shares, our_share, published_share
from plots.summary import summarise
from tests.plots.sweeps import WIRE, run_document, store, store_rates

PATTERN = "published:stride4"


@pytest.fixture
def summary(tmp_path):
    rates = {(PATTERN, "nonblocking"): 150, (PATTERN, "ecmp"): 60, (PATTERN, "random"): None}
    return summarise(store_rates(tmp_path, rates))


def test_a_published_share_is_of_the_published_control():
    assert published_share(PATTERN, "ecmp") == 3482 / 12465
    assert published_share(PATTERN, "spanning-tree") == 3482 / 12465
    assert published_share(PATTERN, "hedera-sa") == 11720 / 12465
    assert published_share(PATTERN, "random") is None
    assert published_share("stride:4", "ecmp") == 3482 / 12465, "the same flows"
    assert published_share("stride:4", "ecmp", k=6) is None
    assert published_share(f"{PATTERN} x2", "ecmp") is None, "other flows than the published ones"


def test_of_the_control(summary):
    shares = Shares(summary, of_control=True)
    assert shares.ours(PATTERN, "ecmp").median == our_share(summary, PATTERN, "ecmp") == 0.4
    assert shares.published(PATTERN, "ecmp") == published_share(PATTERN, "ecmp")
    assert shares.ours(PATTERN, "random") is shares.ours(PATTERN, "hedera-sa") is None


def test_of_the_capacity_payload_is_held_against_payload(summary):
    """Section 6.2 counts at the sinks' sockets. What bwm-ng counts would be 6.8 % more."""
    shares = Shares(summary, of_control=False)
    assert shares.ours(PATTERN, "ecmp").median == pytest.approx(60 / WIRE / (160 * 1448 / 1514), abs=1e-5)
    assert shares.published(PATTERN, "ecmp") == 3482 / (16_000 * 1448 / 1538)
    assert shares.ours(PATTERN, "random") is None
    assert shares.published(PATTERN, "random") is None


def test_jumbo_packets_raise_the_payload_that_links_can_deliver(tmp_path):
    document = run_document(PATTERN, "ecmp")
    document["spec"]["mtu"] = 9000
    store(tmp_path, document)
    assert summarise(load_sweep(tmp_path).runs).payload_capacity_mbps == 160 * 8948 / 9014
