"""What is seen of a run that is fine, and flows as they are measured."""

from math import inf

from harness.run.traffic import EmulatedFlow
from harness.verdict.flows import MeasuredFlow, PathChange, RoutedFlow
from harness.verdict.rules import Evidence, FullLinkRates, PlacedLink, judge
from record.spec import RunSpec
from topos.wire import compute_acknowledgements_per_payload, compute_wire_per_payload
from traffic.programs import FlowReport, Interval


def on_the_wire(mtu=1500):
    """Bytes counted at a sender for each of its payload."""
    return compute_wire_per_payload(mtu) + compute_acknowledgements_per_payload(mtu)


SPEC = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10, time="real")
FINE = Evidence(
    spec=SPEC,
    port_mbps={"0_0_1-eth2": 9.98, "0_0_2": 10.05},
    measured_mbps=155.0,
    counted_mbps=120.0,  # over a longer time than the window
    payload_mbps=120.0 / on_the_wire(),
    predicted_mbps=160.0,
    unfinished_flows=[],
    full=FullLinkRates((3.0, 5.0), {"0_0_1-eth2": 9.98}),
    placed_links=[PlacedLink("0_0_1-eth2", 9.9, 9.98, 0.0)],
    lost_packets={},
    window=(1.0, 5.0),
    dead_processes=[],
)
SERVER = 5001
UNSETTLED = "TCP had no second to settle in"


def reasons(seen):
    """Why the run does not count."""
    return list(judge(seen).reasons)


def routed(src, dst, *changes, start=-inf, mbit=None):
    """A flow that had each core from a time on."""
    return RoutedFlow(src, dst, tuple(PathChange(t, core) for t, core in changes), start, mbit)


def measured(src, dst, *changes, back=(), mbps=(), start=0.0, life=(-inf, inf)):
    """The same with the path of its acknowledgements, and its rate in each second from ``start`` on."""
    report = FlowReport("", 1, "", tuple(Interval(s, s + 1, 0, rate * 1e6) for s, rate in enumerate(mbps)), None)
    there = routed(src, dst, *changes, start=life[0])
    return MeasuredFlow(EmulatedFlow(src, dst, 1, report=report), start, life[1], there, routed(dst, src, *back))


def placed(t, key, src, dst, src_port, dst_port=SERVER, core=0, reason="hashed"):
    """What a controller logs of a flow's first path."""
    ends = {"key": key, "src": src, "dst": dst, "src_port": src_port, "dst_port": dst_port}
    return {"t": t, "event": "flow", **ends, "core": core, "reason": reason}


def round_of(t, *keys, took=0.0):
    """What a controller logs of a round in which these flows were large, and whose poll ``took`` so long."""
    counts = {"round": 1, "flows": 1, "large": 1, "placed": 1, "changed": 1}
    spans = {"polled_s": took, "compute_s": 0.0, "install_s": 0.0}
    return {"t": t, "event": "round", "large_flows": [{"key": key} for key in keys], **counts, **spans}
