"""Scenarios on real sockets, against arithmetic and against ns-3."""

import numpy as np
import pytest
from click.testing import CliRunner

from record.spec import Phantom
from studies.hull import linux, packets
from studies.hull.lab import shape_of, tcp_of
from studies.hull.report import hull
from studies.hull.scenario import SCHEMES, Experiment, Parameters, make_scenario

SMALL_US = 2 * (154 * 8e-3 + 5) + 2 * (954 * 8e-3 + 5)
"""A request of 100 bytes and an answer of 900, with headers of 54, cross two links of 1 Gb/s and 5 us each."""


def built(scheme, workload, **asked):
    experiment = Experiment(scheme, workload, **asked)
    traffic = experiment.draw_traffic()
    return experiment, traffic, make_scenario(experiment, traffic)


def test_ports_and_tcp_are_those_of_the_scenario():
    shapes = {name: shape_of(built(name, "dynamic", load=0.2, seconds=1)[-1]) for name in SCHEMES}
    assert {shape.mtu + 14 for shape in shapes.values()} == {990}, "frames are as long as the engine's"
    assert [shape.marks for shape in shapes.values()] == [False, True, True, False]
    assert not any(shape.at_host().marks for shape in shapes.values()), "switches mark, hosts do not"
    assert [shape.mark_bytes[0] for shape in shapes.values() if shape.marks] == pytest.approx([30_990, 6_990], abs=500)
    assert shapes["hull"].phantom == Phantom(0.95, 1000)
    assert {name: shape.pacer for name, shape in shapes.items() if shape.pacer} == dict.fromkeys(
        ("dctcp-6k-pacer", "hull"), "front"
    )
    behind = Parameters(pacer_behind=True, sack=False)
    as_theirs = built("hull", "dynamic", load=0.2, seconds=1, parameters=behind)[-1]
    assert shape_of(as_theirs).pacer == "behind"
    assert tcp_of(as_theirs).of_route == ["rto_min", "10ms", "initcwnd", "2", "quickack", "1"]
    assert {"net.ipv4.tcp_sack=0", "net.ipv4.tcp_timestamps=0"} < set(tcp_of(as_theirs).settings)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--jitter", "1us"),
        ("--window-packets", "99"),
        ("--least-packets", "3"),
        ("--idle", "0"),
        ("--min-rto", "10us"),
        ("--whole-cuts", None),
        ("--prr", None),
        ("--growth-anew", None),
    ],
)
def test_what_linux_has_no_setting_for_is_refused_in_words(option, value):
    for command in (["table", "2", "--quick"], ["run", "--scheme", "hull", "--workload", "dynamic"]):
        answer = CliRunner().invoke(hull, [*command, "--engine", "linux", option, *filter(None, [value])])
        assert answer.exit_code == 2
        assert f"{option} is " in answer.output
        assert "Traceback" not in answer.output


@pytest.mark.virtual
def test_a_path_without_load_has_the_delay_of_its_links():
    found = packets.run(Experiment("hull", "dynamic", load=0.05, seconds=6), on_linux=True)
    assert found.small_us.size > 5
    assert found.small_us.min() == pytest.approx(SMALL_US, abs=1.5)


@pytest.mark.virtual
def test_results_are_in_the_report_s_order():
    found = {scheme: packets.run(Experiment(scheme, "dynamic", load=0.5, seconds=3), True) for scheme in SCHEMES}
    queues = [result.queue_us.mean() for result in found.values()]
    assert queues == sorted(queues, reverse=True), "TCP, DCTCP-30K, DCTCP-6K-pacer, HULL"
    assert queues[0] > 50 * queues[-1]
    assert found["hull"].large_ms.mean() > found["dctcp-30k"].large_ms.mean()
    assert {result.unfinished for result in found.values()} == {0}
    assert found["hull"].counts["pacers_paced_packets"] > 0


@pytest.mark.virtual
@pytest.mark.parametrize("flows", [1, 2])
def test_a_phantom_queue_marks_as_on_ns_3(built_on_ns_3, flows):
    """One flow has half of its packets marked, two three quarters: windows go to and fro between two and three."""
    *_, asked = built("hull", "static", flows=flows, seconds=0.5)
    del asked["pacer"]
    marked, rates = [], []
    for run in (packets.run_scenario, linux.run_scenario):
        head, arrays = packets.parse(run(asked))
        port = next(one for one in head["ports"] if one["link"] == "switch>client")
        marked.append(port["marked_packets"] / port["sent_packets"])
        rates.append(arrays["client_received_bytes"].sum() / (asked["tcp"]["segment_bytes"] + 40))
    assert marked[1] == pytest.approx(marked[0], abs=0.01)
    assert rates[1] / (936 / 976) == pytest.approx(rates[0] / (950 / 990), rel=0.03), "headers of Ethernet, too"


@pytest.mark.virtual
def test_a_pacer_sees_each_segment_and_far_hosts_fill_the_link():
    """Linux's TCP gives its port several segments at once, if it may, which a pacer would take for one packet."""
    far = Parameters(segment_bytes=600, link_delay_us=100)
    found = packets.run(Experiment("dctcp-6k-pacer", "static", flows=2, seconds=0.2, parameters=far), on_linux=True)
    seen = found.counts["pacers_paced_packets"] + found.counts["pacers_passed_packets"]
    assert seen == pytest.approx(2 * found.counts["packets"], rel=0.02), "segments at servers, answers at the client"
    assert found.goodput_mbps.sum() == pytest.approx(1000 * 586 / 640, rel=0.02)


@pytest.fixture(scope="session")
def built_on_ns_3():
    try:
        return packets.build_engine()
    except packets.NotInstalled as missing:
        pytest.skip(str(missing))


@pytest.mark.virtual
def test_one_seed_is_one_result():
    asked = Experiment("dctcp-6k-pacer", "low-latency", load=0.2, seconds=0.3)
    first, again = (packets.run(asked, True) for _ in range(2))
    np.testing.assert_array_equal(first.query_ms, again.query_ms)
    np.testing.assert_array_equal(first.queue_us, again.queue_us)
