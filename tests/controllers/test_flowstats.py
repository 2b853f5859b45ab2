import pytest

from controllers.driver import FiveTuple, FlowStat
from controllers.flowstats import ACK_BYTES, IDLE_RATE, Measurements

NIC = 10e6
TCP, UDP, ICMP = (FiveTuple(protocol, "10.0.0.2", "10.1.0.2", 20000, 5001) for protocol in (6, 17, 1))


def stat(packets, size, age, flow=TCP):
    return FlowStat(1, flow, 1, packets, packets * size, age)


def rate_after(*replies):
    measured = Measurements(NIC)
    for reply in replies:
        measured.update("e", reply if isinstance(reply, list) else [reply])
    assert measured.rate("other", TCP) == measured.rate("e", TCP._replace(src_port=1)) == 0.0
    return max(measured.rate("e", flow) for flow in (TCP, UDP, ICMP))


FULL = stat(1000, 1250, 1.0)
MANY_ACKS = stat(10_000, 66, 1.0)


@pytest.mark.parametrize(
    ("replies", "rate"),
    [
        pytest.param([FULL], 1, id="over the age of a new flow"),
        pytest.param([FULL, stat(1500, 1250, 2.0)], 0.5, id="of the last interval, not of a lifetime"),
        pytest.param([FULL, FULL], 1, id="the same counters, read twice"),
        pytest.param([FULL, FULL, stat(1000, 1250, 3.0)], 0, id="a flow that has stalled"),
        pytest.param([FULL, []], 0, id="a flow that is gone is forgotten"),
        pytest.param([FULL, stat(500, 1250, 0.5)], 1, id="an entry made anew starts again"),
        pytest.param([stat(10, 1250, 0.0)], 0, id="a flow that has just begun"),
        pytest.param([MANY_ACKS], 0, id="acknowledgements"),
        pytest.param([MANY_ACKS, MANY_ACKS], 0, id="acknowledgements, of which none are counted"),
        pytest.param([stat(1_000, ACK_BYTES - 1, 1.0)], 0, id="packets a byte too small"),
        pytest.param([stat(1_000, ACK_BYTES, 1.0)], ACK_BYTES * 8e3 / NIC, id="packets just large enough"),
        pytest.param([stat(10_000, 66, 1.0, UDP)], 66 * 8e4 / NIC, id="small packets of other protocols are data"),
        # first long the requests of a client, then megabytes the same way: the average of all is still small
        pytest.param(
            [MANY_ACKS, FlowStat(1, TCP, 1, 10_100, 660_000 + 100 * 1514, 2.0)], 1514 * 800 / NIC, id="it turns round"
        ),
        pytest.param([stat(10, 98, 10.0, ICMP)], 0, id="a ping is idle"),
    ],
)
def test_the_rate_of_a_flow_as_a_fraction_of_the_nic_s(replies, rate):
    assert rate_after(*replies) == pytest.approx(rate)
    assert 0 < 98 * 8 / NIC < IDLE_RATE
