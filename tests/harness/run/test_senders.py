"""What the clients of lasting flows may hold back, and how long they may take to be done with it."""

import pytest

from harness.run.senders import BLOCK_BYTES, LINGERING_BYTES, linger_s, unsent_bytes


@pytest.mark.parametrize("bw", [0.5, 10, 50, 100, 1000, 40_000])
def test_tcp_may_hold_a_block_and_what_the_link_carries_while_a_client_waits_for_a_processor(bw):
    held = unsent_bytes(bw)
    assert held == pytest.approx(max(BLOCK_BYTES, bw * 125_000 * 0.02))
    assert isinstance(held, int), "sysctl takes no other"


def test_a_client_on_slow_links_may_linger_until_all_that_it_has_written_is_through():
    for bw in (0.5, 10, 25):
        written = BLOCK_BYTES + unsent_bytes(bw)
        assert written <= LINGERING_BYTES
        assert linger_s(bw) > written * 8e-6 / bw
