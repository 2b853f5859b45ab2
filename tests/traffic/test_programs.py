import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.network.processes import wait_until
from tests.commands import PATIENCE_S, ran
from traffic.programs import make_client_command, make_server_command, parse_report, parse_samples, sample_command

CAPTURED = Path(__file__).parent / "captured"
A, B = ("10.0.0.2", 20001), ("10.0.0.2", 20002)


@pytest.mark.parametrize("version", ["2.0.13", "2.1.5", "2.1.8"])
def test_both_ends_report_two_flows_of_three_seconds_and_one_of_a_size(version):
    """Two flows of three seconds, then one of 200 MB, to 10.2.0.2."""
    report = parse_report((CAPTURED / f"iperf-{version}-server.csv").read_text())
    assert sorted(report) == [A, B, ("10.0.0.2", 20003)]
    for flow in (A, B):
        got = report[flow]
        assert (got.source, got.source_port, got.destination) == (*flow, "10.2.0.2")
        assert [(one.start_s, one.end_s) for one in got.intervals] == [(0, 1), (1, 2), (2, 3)]
        tail = got.total.bytes - sum(one.bytes for one in got.intervals)
        assert 0 <= tail < 0.01 * got.total.bytes  # the fraction of a second after the last line
        assert got.mbps == pytest.approx(sum(got.per_second_mbps) / 3, rel=0.01)
    short = report["10.0.0.2", 20003]
    assert short.intervals == ()
    assert short.total.bytes == 200_000_000
    (client,) = parse_report((CAPTURED / f"iperf-{version}-client.csv").read_text()).items()
    assert client[0] == A
    assert len(client[1].per_second_mbps) == 3
    assert client[1].total is not None


def test_rates_are_in_units_of_a_million_bits_and_a_flow_of_one_second_has_two_lines():
    line = "20260101000000,10.0.0.2,20001,10.2.0.2,5001,1,0.0-1.0,1250000,{}\n"
    for text, mbps in ((line.format(10000000), 10.0), (line.format(10000000) + line.format(9990000), 9.99)):
        flow = parse_report(text)[A]
        assert (flow.per_second_mbps, flow.mbps) == ((10.0,), mbps), "not 9.54, which would be Mibit"


def test_a_flow_that_was_killed_has_no_total_and_the_cut_line_does_not_count():
    whole = (CAPTURED / "iperf-2.1.8-server.csv").read_text()
    cut = whole[: whole.index("2.0-3.0") + 12]  # in the middle of a number
    flow = parse_report(cut)[A]
    assert flow.total is None
    assert len(flow.intervals) == 2
    assert flow.mbps == pytest.approx(sum(flow.per_second_mbps) / 2, rel=1e-6)


def test_a_stalled_flow_shows_its_silent_second():
    text = (CAPTURED / "iperf-2.0.13-stalled-server.csv").read_text()
    (flow,) = parse_report(text, port=5977).values()
    assert len(flow.intervals) == 5
    assert flow.per_second_mbps[2] == 0


def test_other_lines_are_no_flows():
    assert parse_report("tcp connect failed: Connection refused\n\nbind failed: Address already in use\n") == {}


@given(st.data())
def test_cutting_the_report_anywhere_loses_the_end_only(data):
    whole = (CAPTURED / "iperf-2.0.13-server.csv").read_text()
    cut = data.draw(st.integers(0, len(whole)))
    full = parse_report(whole)
    for key, flow in parse_report(whole[:cut]).items():
        seconds = len(flow.intervals)
        assert flow.intervals == full[key].intervals[:seconds]


def test_commands():
    assert make_server_command() == ["iperf", "-s", "-p", "5001", "-i", "1", "-y", "C", "-e"]
    assert " ".join(make_client_command("10.2.0.2", A, seconds=10.0)) == (
        "iperf -c 10.2.0.2 -p 5001 -B 10.0.0.2:20001 -t 10 -i 1 -y C"
    )


@pytest.mark.skipif(shutil.which("iperf") is None, reason="iperf is not installed")
def test_the_installed_iperf_takes_the_commands_and_both_ends_agree():
    port, source_port = 5931, 20000 + time.time_ns() % 30000
    command = make_client_command("127.0.0.1", ("127.0.0.1", source_port), seconds=10, port=port)
    told = []

    def transferred():
        """Whether the server listens by now."""
        done = ran(*command, "-n", 10**6, check=True)  # of two limits iperf takes the last
        told.append(done.stdout)
        return bool(parse_report(told[-1], port))

    with subprocess.Popen(make_server_command(port), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert wait_until(transferred, PATIENCE_S)
        finally:
            server.terminate()
            output = server.communicate(timeout=PATIENCE_S)[0]
    key = ("127.0.0.1", source_port)
    sent, received = parse_report(told[-1], port)[key], parse_report(output, port)[key]
    assert sent.total.bytes == received.total.bytes == 10**6


STAMPED = "20260101000002.250,10.0.0.2,20001,10.2.0.2,5001,1,0.0-1.0,125000,1000000\n"
ENHANCED = """\
time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,readcnt,bin0,bin1
+0130:20260101013002.250000,10.0.0.2,20001,10.2.0.2,5001,1,0.0,1.0,125000,1000000,24,1,1
+0130:20260101013003.250000,10.0.0.2,20001,10.2.0.2,5001,1,1.0,2.0,125000,1000000,24,1,1
+0130:20260101013002.900000,10.0.0.2,20001,10.2.0.2,5001,1,0.0,2.0,250000,1000000,48,2,2
"""
NEW_YEAR_2026 = 1_767_225_600


@pytest.mark.parametrize("text", [STAMPED, ENHANCED])
def test_a_flow_began_two_seconds_before_the_stamp_of_its_first_second(text):
    (flow,) = parse_report(text).values()
    assert flow.began(started=NEW_YEAR_2026 + 0.1) == pytest.approx(NEW_YEAR_2026 + 0.25)
    # A stamp tells whole milliseconds: in virtual time a flow begins in the very one in which its client did.
    assert flow.began(started=NEW_YEAR_2026 + 0.2507) == pytest.approx(NEW_YEAR_2026 + 0.25)
    # unless that is before its client was started
    assert flow.began(started=NEW_YEAR_2026 + 1) == pytest.approx(NEW_YEAR_2026 + 1.25)


def test_whole_seconds_do_not_tell_when_a_flow_began():
    (flow,) = parse_report(STAMPED.replace(".250", "")).values()
    assert flow.began(started=5.0) == 5.0


def test_the_columns_of_newer_versions_are_read_as_those_of_older_ones():
    (flow,) = parse_report(ENHANCED).values()
    assert [one.bytes for one in flow.intervals] == [125_000, 125_000]
    assert flow.total.bytes == 250_000


def test_enhanced_reports_of_2_1_9_have_more_columns_after_the_usual_ones():
    report = parse_report((CAPTURED / "iperf-2.1.9-server.csv").read_text())
    (flow,) = report.values()
    assert (flow.source, flow.source_port, flow.destination) == ("10.2.0.3", 52876, "10.3.0.3")
    assert [one.bytes for one in flow.intervals] == [182508, 204168, 225888, 225888, 227336, 188240]
    assert flow.total.bytes == 1254028
    assert flow.total.bits_per_s == 1724027
    # It ended, by its last stamp, 5.8 s after it began.
    assert flow.began(flow.intervals[0].stamp - 2) == pytest.approx(flow.total.stamp - 5.8, abs=0.05)


def test_bwm_ng_0_6_3():
    """Captured from two veth ports; 100 pings of 1,442 bytes a second left each."""
    series = parse_samples((CAPTURED / "bwm-ng-0.6.3.csv").read_text())
    assert list(series) == ["0_0_1-eth2", "0_0_1-eth21"]
    for one in series.values():
        assert one.t.shape == one.out_mbps.shape == one.in_mbps.shape == (4,)
        assert one.t[1] - one.t[0] == pytest.approx(1, abs=0.01)
        assert one.out_mbps == pytest.approx([1.1436] * 4, abs=0.003)
        assert (one.in_mbps < 0.002).all()
    assert series["0_0_1-eth2"].out_mbps[0] == pytest.approx(142_934 * 8 / 1e6)


def test_bwm_ng_0_6_1():
    """Made by hand from its format: whole seconds, 16 columns, the last line cut off."""
    series = parse_samples((CAPTURED / "bwm-ng-0.6.1.csv").read_text())
    assert series["0_0_1-eth2"].out_mbps == pytest.approx([10.0, 9.992])
    assert series["0_0_1-eth2"].in_mbps == pytest.approx([0.264, 0.264])
    assert series["0_0_1-eth2"].t.tolist() == [1369812346, 1369812347]
    assert series["0_0_1-eth4"].out_mbps == pytest.approx([5.0])


def test_the_first_sample_has_no_second_before_it():
    first = "".join((CAPTURED / "bwm-ng-0.6.3.csv").read_text().splitlines(keepends=True)[:3])
    series = parse_samples(first)
    assert all(one.t.size == 0 for one in series.values())
    assert parse_samples("") == {}


@given(cut=st.integers(0, 2000))
def test_cutting_bwm_ng_s_output_anywhere_loses_the_end_only(cut):
    whole = (CAPTURED / "bwm-ng-0.6.3.csv").read_text()
    full, part = parse_samples(whole), parse_samples(whole[:cut])
    for interface, one in part.items():
        assert one.out_mbps.tolist() == full[interface].out_mbps[: one.t.size].tolist()


def test_alien_lines_are_named():
    with pytest.raises(ValueError, match="line 1 is not a bwm-ng sample: 'failed to open outfile'"):
        parse_samples("failed to open outfile\n")


def test_bwm_ng_s_command_leaves_exact_names_out():
    command = sample_command(["lo", "ovs-system"], Path("out.csv"))
    assert command[command.index("-I") + 1] == "%lo,ovs-system"
    assert command[command.index("-F") + 1] == "out.csv"


@pytest.mark.skipif(shutil.which("bwm-ng") is None, reason="bwm-ng is not installed")
def test_the_installed_bwm_ng_takes_the_command_and_keeps_its_samples_on_sigterm(tmp_path):
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    for seconds in (1.6, 16.0):  # it samples once a second, from when it has started
        output = tmp_path / f"samples-{seconds}.csv"
        with subprocess.Popen(sample_command(others, output)) as sampler:
            time.sleep(seconds)
            sampler.terminate()
            assert sampler.wait(PATIENCE_S) == 0
        series = parse_samples(output.read_text()) if output.exists() else {}
        if series:
            break
    assert list(series) == ["lo"]
    assert series["lo"].t.size >= 1
