import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.driver import ArpRequest, EventLog, FiveTuple, make_arp_reply, parse
from tests.controllers.frames import Other, arp_request, between, mac_bytes
from topos.fattree import FatTree

TREE = FatTree(4)
MORE_FRAGMENTS, DONT_FRAGMENT = 0x2000, 0x4000


@pytest.mark.parametrize(
    ("protocol", "ports", "how", "seen"),
    [
        (6, (33333, 5001), {"payload": b"data"}, (33333, 5001)),
        (17, (33333, 5001), {"payload": b"data"}, (33333, 5001)),
        (1, (8, 0), {}, (8, 0)),  # type and code
        (47, (7, 9), {"payload": bytes(8)}, (0, 0)),
        (6, (7, 9), {"options": bytes(8)}, (7, 9)),
        (6, (7, 9), {"fragment": MORE_FRAGMENTS}, (0, 0)),  # fragments have no ports, as in Open vSwitch
        (6, (7, 9), {"fragment": 185}, (0, 0)),
        (6, (7, 9), {"fragment": DONT_FRAGMENT}, (7, 9)),
    ],
)
def test_what_identifies_a_flow(protocol, ports, how, seen):
    packet = between(TREE, 0, 5, protocol=protocol, src_port=ports[0], dst_port=ports[1])
    assert parse(packet.frame(**how)) == FiveTuple(protocol, "10.0.0.2", "10.1.0.3", *seen)


def test_frames_cut_short_are_refused():
    frame = between(TREE, 0, 5).frame(bytes(100))
    assert parse(frame + bytes(6)) is not None, "Ethernet padding is no harm"
    assert parse(frame[:-1]) is None


@pytest.mark.parametrize("ethertype", [0x86DD, 0x88CC, 0x8100])
def test_anything_else_is_none(ethertype):
    assert parse(Other(ethertype).frame()) is None


@given(st.binary(max_size=80))
def test_no_frame_raises(noise):
    assert parse(noise) is None or len(noise) >= 34
    parse(bytes(12) + b"\x08\x00" + noise)
    parse(bytes(12) + b"\x08\x06" + noise)


def test_arp_request_and_reply():
    request = parse(arp_request(TREE, 0, "10.1.0.3").frame())
    assert request == ArpRequest(mac_bytes("00:00:00:00:00:02"), "10.0.0.2", "10.1.0.3")
    reply = make_arp_reply(request, TREE.host_mac(5))
    assert reply[:6] == mac_bytes(TREE.host_mac(0))
    assert reply[6:12] == reply[22:28] == mac_bytes(TREE.host_mac(5))
    assert reply[12:22] == bytes.fromhex("0806 0001 0800 06 04 0002")
    assert reply[28:32] == bytes([10, 1, 0, 3])
    assert reply[32:42] == mac_bytes(TREE.host_mac(0)) + bytes([10, 0, 0, 2])
    assert parse(reply) is None, "only requests are answered"


def test_events_can_be_read_at_once(tmp_path):
    log = EventLog(tmp_path / "log", clock=lambda: 12.5)
    log("flow", key=1)
    assert json.loads((tmp_path / "log").read_text()) == {"t": 12.5, "event": "flow", "key": 1}
    log.close()
    log("flow", key=2)
    EventLog(None)("flow", key=3)
    assert len((tmp_path / "log").read_text().splitlines()) == 1
