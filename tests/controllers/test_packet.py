import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.packet import ArpRequest, FiveTuple, arp_reply, parse
from tests.controllers.frames import Other, arp_request, between, mac_bytes
from topos.fattree import FatTree

TREE = FatTree(4)
MORE_FRAGMENTS, DONT_FRAGMENT = 0x2000, 0x4000


@pytest.mark.parametrize("protocol", [6, 17])
def test_tcp_and_udp(protocol):
    packet = between(TREE, 0, 5, protocol=protocol, src_port=33333, dst_port=5001)
    assert parse(packet.frame(b"data")) == FiveTuple(protocol, "10.0.0.2", "10.1.0.3", 33333, 5001)


def test_icmp_has_type_and_code_for_ports():
    packet = between(TREE, 0, 5, protocol=1, src_port=8, dst_port=0)
    assert parse(packet.frame()) == FiveTuple(1, "10.0.0.2", "10.1.0.3", 8, 0)


def test_other_protocols_have_no_ports():
    assert parse(between(TREE, 0, 5, protocol=47).frame(bytes(8)))[3:] == (0, 0)


def test_ip_options_move_the_ports():
    packet = between(TREE, 0, 5, src_port=7, dst_port=9)
    assert parse(packet.frame(options=bytes(8)))[3:] == (7, 9)


@pytest.mark.parametrize(("fragment", "ports"), [(MORE_FRAGMENTS, (0, 0)), (185, (0, 0)), (DONT_FRAGMENT, (7, 9))])
def test_fragments_have_no_ports_as_in_open_vswitch(fragment, ports):
    assert parse(between(TREE, 0, 5, src_port=7, dst_port=9).frame(fragment=fragment))[3:] == ports


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
    reply = arp_reply(request, TREE.host_mac(5))
    assert reply[:6] == mac_bytes(TREE.host_mac(0))
    assert reply[6:12] == reply[22:28] == mac_bytes(TREE.host_mac(5))
    assert reply[12:22] == bytes.fromhex("0806 0001 0800 06 04 0002")
    assert reply[28:32] == bytes([10, 1, 0, 3])
    assert reply[32:42] == mac_bytes(TREE.host_mac(0)) + bytes([10, 0, 0, 2])
    assert parse(reply) is None, "only requests are answered"
