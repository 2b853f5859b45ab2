import msgspec
import pytest

from hifi import dctcp
from hifi.stage import played
from tests.hifi.made import seen


def test_the_original_s_network():
    tcp_too = dctcp.scenes(100.0, 2)
    assert [(one.congestion_control, one.seed) for one in tcp_too] == [
        ("dctcp", 1), ("dctcp", 2), ("reno", 1), ("reno", 2),
    ]  # fmt: skip
    one = tcp_too[0]
    assert one.frames_that_fit == 425
    assert (one.delay_ms, one.jitter_ms, one.window) == (0.075, 0.0, (5.0, 60.0))
    assert "min 30000 max 35000" in one.shape.queue, "as the original gave it to RED"
    assert one.flows != tcp_too[1].flows, "a seed is when flows start"


def test_marks_from_65_packets_on_at_1_gbps_and_jitter_where_it_is_asked_for():
    (one, _) = dctcp.scenes(1000.0, 1, jitter=True)
    assert (one.mark_packets, one.jitter_ms) == (65, 0.05)
    assert one.name != dctcp.scenes(1000.0, 1)[0].name


def test_a_row_is_the_distribution_of_the_queue():
    scene = dctcp.scenes(100.0, 1, quick=True)[0]
    row = dctcp.row(seen(scene, range(101), 0.9, (60.0, 30.0), timeouts=2, segments_out_of_order=3))
    assert [row[n] for n in ("least", "p5", "median", "p95", "most")] == pytest.approx([0, 5, 50, 95, 100], abs=0.01)
    assert [row[n] for n in ("utilisation", "mean")] == pytest.approx([0.9, 50], rel=1e-3)
    assert [row[n] for n in ("least_flow_mbps", "most_flow_mbps")] == pytest.approx([30, 60])
    assert [row[n] for n in ("marks", "drops", "timeouts", "out_of_order")] == [20, 7, 2, 3]


def test_what_lies_outside_the_published_range_is_said():
    rows = [
        dctcp.row(seen(scene, queue))
        for scene, queue in zip(dctcp.scenes(100.0, 1), ([20] * 3, [300] * 3), strict=True)
    ]
    assert dctcp.missed(rows[:1]) == []
    assert dctcp.missed(rows) == [
        "reno, median: 300.0 packets, not 337 to 353",
        "reno, p95: 300.0 packets, not 413 to 423",
    ]
    assert dctcp.missed([dctcp.row(seen(dctcp.scenes(1000.0, 1)[0], [65] * 3))]) == [], "published at 100 Mb/s"


@pytest.mark.virtual
def test_real_tcp_over_a_delay_stands_at_the_marks(tmp_path):
    scene = dctcp.scenes(100.0, 1)[0]
    flows = tuple(msgspec.structs.replace(flow, start_s=0.05 * flow.sender) for flow in scene.flows)
    short = msgspec.structs.replace(scene, flows=flows, seconds=3.0, window=(1.0, 3.0), delay_ms=5.0)
    (found,) = played([short], tmp_path)
    assert found.utilisation > 0.97
    assert 10 <= dctcp.row(found)["median"] <= 25
    assert found.drops == 0
    assert min(found.flows, key=lambda one: one.first).first > 0.01, "a packet takes its sender's cable both ways"
