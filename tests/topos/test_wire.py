import pytest

from topos.wire import payload_share


def test_full_segments_at_the_usual_mtu():
    assert payload_share() == 1448 / 1514
    assert payload_share(cable=True) == 1448 / 1538


@pytest.mark.parametrize("cable", [False, True])
def test_larger_packets_waste_less(cable):
    assert payload_share(1500, cable=cable) < payload_share(9000, cable=cable) < 1
