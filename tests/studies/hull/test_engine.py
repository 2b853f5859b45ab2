"""The engine against what is known exactly: alone, in company, through faults; and what it refuses."""

import subprocess

import pytest

from studies.hull.packets import build_engine, run_scenario
from tests.refused import refused
from tests.studies.hull.scenes import START_NS, answered, scene
from topos.fattree import FatTree

pytestmark = pytest.mark.usefixtures("built")

HEADER = 40
LINK_NS, DELAY_NS = 8, 5000  # ns per byte at 1 Gb/s; propagation
ACK_NS = HEADER * LINK_NS
ROUNDING_NS = 2  # ns-3 sends what is written a nanosecond later


def two_links(bytes_on_the_wire):
    return 2 * (bytes_on_the_wire * LINK_NS + DELAY_NS)


def test_the_classes_pass_their_own_tests():
    done = subprocess.run([build_engine("unit-tests")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_small_file_takes_exactly_what_its_packets_take():
    _, arrays = answered(scene(exchanges=[(0, 0, 100, 900)]))
    took = arrays["finished_ns"][0] - START_NS
    exactly = two_links(100 + HEADER) + ACK_NS + two_links(900 + HEADER)  # the request's ACK goes ahead: 37.6 us
    assert 0 <= took - exactly <= ROUNDING_NS


@pytest.mark.parametrize("segments", [1, 2, 5, 6, 7, 100, 1000])
def test_a_lone_file_takes_exactly_what_slow_start_gives(segments):
    """Two segments first, two for every ACK; the link is full when four more fit into a round trip."""
    _, arrays = answered(scene(exchanges=[(0, 0, 100, 950 * segments)]))
    full = (950 + HEADER) * LINK_NS
    ready = [0, 0]  # when TCP may send a segment; each ACK readies two more
    sent = ACK_NS  # of the request
    for n in range(segments):
        start = max(ready[n], sent)
        sent = start + full
        acked = sent + DELAY_NS + full + DELAY_NS + 2 * (ACK_NS + DELAY_NS)
        ready += [acked, acked]
    expected = two_links(100 + HEADER) + sent + DELAY_NS + full + DELAY_NS
    assert 0 <= arrays["finished_ns"][0] - START_NS - expected <= ROUNDING_NS


def test_ten_megabytes_alone_take_what_the_authors_files_say():
    """Their lone 10 MB transfers take 83.4246 ms, to the microsecond: the window starts at two every time."""
    _, arrays = answered(scene(exchanges=[(0, 0, 100, 10**7)]))
    took_ms = (arrays["finished_ns"][0] - START_NS) / 1e6
    assert took_ms > 83.4  # the first overflows the server's own queue and takes longer
    second = scene(exchanges=[(0, 0, 100, 10**7), (0, 300_000_000, 100, 10**7)])
    _, arrays = answered(second)
    again_ms = (arrays["finished_ns"][1] - START_NS - 300_000_000) / 1e6
    assert again_ms == pytest.approx(83.4246, abs=0.0005)
    second["tcp"]["idle_ns"] = 0
    _, arrays = answered(second)
    kept_ms = (arrays["finished_ns"][1] - START_NS - 300_000_000) / 1e6
    assert kept_ms == pytest.approx(83.3991, abs=0.0005)


def long_flows(count, seconds=0.5, settle_ns=300_000_000, **port):
    flows = [(n, 100_000 * n, 100, 10**12) for n in range(count)]
    built = scene(servers=count, exchanges=flows, seconds=seconds, **port)
    built["measure_from_ns"] += settle_ns
    built["measure_until_ns"] += settle_ns
    built["end_ns"] = built["measure_until_ns"]
    return built


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 8])
def test_long_dctcp_flows_hold_the_queue_at_k_and_fill_the_link_fairly(count):
    """DCTCP keeps the queue near K whatever N is (SIGCOMM '10, section 3.3)."""
    head, arrays = answered(long_flows(count, settle_ns=1_000_000_000, mark_bytes=30_000))
    waiting = arrays["mean_waiting_bytes switch>client"]
    assert 0.85 * 30_000 <= waiting.mean() <= 1.15 * 30_000
    client = next(port for port in head["ports"] if port["link"] == "switch>client")
    assert client["sent_bytes_in_window"] * 8 / 0.5e9 > 0.99
    if count == 2:
        return  # two flows alone can lock to each other's phase, 3 to 1: only one sees the marks
    shares = arrays["client_received_bytes"].astype(float)
    assert shares.sum() ** 2 / (count * (shares**2).sum()) > 0.95  # Jain


@pytest.mark.slow
def test_the_smallest_windows_make_a_step_of_two_packets_for_each_flow():
    """Above what two segments of each flow fill, every flow adds just these two to the queue (Figure 1b)."""
    queues = []
    for count in (5, 7):
        built = long_flows(count, phantom={"drain_bps": 900e6, "threshold_bytes": 1000})
        built["tcp"]["segment_bytes"] = 600
        queues.append(answered(built)[1]["mean_waiting_bytes switch>client"].mean())
    assert queues[1] - queues[0] == pytest.approx(2 * 2 * 640, rel=0.15)


@pytest.mark.parametrize(
    ("settings", "queue"),
    [
        ({"variant": "reno"}, 40),
        ({"variant": "dctcp"}, 40),
        # Flows whose windows the receiver bounds: ns-3 3.37 alone crashes when duplicate ACKs make room.
        ({"variant": "reno", "window_segments": 20, "sack": False}, 50),
        ({"variant": "reno", "window_segments": 20, "sack": True}, 50),
    ],
)
def test_no_byte_is_lost_or_made(settings, queue):
    """Through drops at a short queue: everything arrives once, and every port's books balance."""
    built = scene(servers=4, exchanges=[(n, 0, 100, 2_000_000) for n in range(4)], seconds=2.0)
    built["tcp"] |= settings
    for link in built["links"]:
        link["queue_packets"] = queue
    head, arrays = answered(built)
    assert head["unfinished"] == 0
    assert (arrays["client_received_bytes"] == 2_000_000).all()
    assert (arrays["server_received_bytes"] == 100).all()
    assert sum(port["dropped_packets"] for port in head["ports"]) > 0
    for port in head["ports"]:
        assert port["arrived_bytes"] == port["sent_bytes"] + port["dropped_bytes"] + port["waiting_bytes"]
        assert port["waiting_bytes"] == port["on_the_wire_packets"] == 0


def test_only_data_is_marked():
    """A phantom queue that marks whatever it may, on the way of one request and a thousand ACKs (RFC 3168)."""
    built = scene(exchanges=[(0, 0, 100, 10**6)], phantom={"drain_bps": 950e6, "threshold_bytes": 1})
    marked = {port["link"]: port["marked_packets"] for port in answered(built)[0]["ports"]}
    assert marked["switch>server1"] == 1
    assert marked["switch>client"] == -(-(10**6) // 950)


@pytest.mark.slow
def test_the_same_scenario_gives_the_same_bytes():
    built = long_flows(3, phantom={"drain_bps": 950e6, "threshold_bytes": 1000})
    built["pacer"] = {
        "eta": 0.125, "beta": 16, "start_bps": 1e8, "depth_bits": 24000, "update_ns": 32000, "tick_ns": 16000,
        "associate": 0.125, "association_ns": 10**7, "queue_packets": 500,
    }  # fmt: skip
    first = run_scenario(built)
    assert first == run_scenario(built)
    built["seed"] = 2  # other coins for the pacer
    assert first != run_scenario(built)


def test_requests_and_replies_of_a_connection_wait_for_each_other():
    _, arrays = answered(scene(exchanges=[(0, 0, 100, 10**6), (0, 1000, 100, 900)]))
    large, small = arrays["finished_ns"]
    assert small > large


def test_a_server_works_on_one_query_at_a_time():
    built = scene(exchanges=[(0, 0, 100, 100), (0, 0, 100, 100)])
    built["exchanges"]["service_ns"] = [1_000_000, 1_000_000]
    first, second = answered(built)[1]["finished_ns"] - START_NS
    assert 1_000_000 < first < 1_050_000
    assert second - first == pytest.approx(1_000_000, abs=2000)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"links": [{"from": "client", "to": "x", "rate_bps": 1e9, "delay_ns": 1, "queue_packets": 1}]}, "x"),
        ({"connections": [{"client": "client", "server": "server9"}]}, "server9"),
        ({"connections": [{"client": "client", "server": "server1", "path": ["nowhere"]}]}, "nowhere"),
        ({"samples": [{"from": "switch", "to": "x", "every_ns": 1}]}, "switch>x"),
        ({"tcp": {}}, "variant"),
        ({"jitter_ns": -1}, "jitter"),
        ({"links": []}, "switch>client"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused_in_one_sentence(change, words):
    with refused(words):
        run_scenario(scene(exchanges=[(0, 0, 100, 100)]) | change)


def test_hederas_fat_tree_carries_every_flow_at_full_rate_when_no_two_collide():
    """k = 4, pods 0 and 1 to pods 2 and 3, each of a pod's hosts over a core of its own. One way: against the other
    flow's data ACKs come in bunches, and 50 segments do not fill the link (Zhang, Shenker and Clark, SIGCOMM '91)."""
    tree, rate = FatTree(4), 100e6
    wire = {"rate_bps": rate, "delay_ns": 1000, "queue_packets": 100}
    built = scene(exchanges=[(n, 1000 * n, 10**9, 0) for n in range(8)], seconds=0.3)
    built["hosts"], built["switches"] = list(tree.hosts), list(tree.switches)
    pairs = [(link[0], link[2]) for link in tree.links()]
    built["links"] = [{"from": a, "to": b, **wire} for one, two in pairs for a, b in ((one, two), (two, one))]
    paths = [tree.path(src, src + 8, core=2 * (src % 2) + src // 2 % 2) for src in range(8)]
    built["connections"] = [{"client": first, "server": last, "path": path} for first, *path, last in paths]
    built["samples"] = []
    built["tcp"] |= {"variant": "reno", "window_segments": 50}
    built["end_ns"] = built["measure_until_ns"]
    built["measure_from_ns"] += 100_000_000
    head, arrays = answered(built)
    goodput = arrays["server_received_bytes"] * 8 / 0.2
    assert goodput == pytest.approx(rate * 950 / 990, rel=0.001)
    assert sum(port["dropped_packets"] for port in head["ports"]) == 0
