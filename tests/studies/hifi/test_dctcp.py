import msgspec
import pytest

from studies.hifi import dctcp
from studies.hifi.stage import played
from tests.studies.hifi.made import seen


def test_the_original_s_network():
    one = dctcp.scene(100.0, "dctcp", 1)
    assert one.frames_that_fit == 425
    assert (one.delay_ms, one.window) == (0.075, (5.0, 60.0))
    assert "min 30000 max 35000" in one.shape.queue, "as the original gave it to RED"
    assert one.flows != dctcp.scene(100.0, "dctcp", 2).flows, "a seed is when flows start"
    assert dctcp.scene(1000.0, "dctcp", 1).mark_packets == 65


def test_a_row_is_the_distribution_of_the_queue():
    scene = dctcp.scene(100.0, "dctcp", 1, quick=True)
    row = dctcp.row(seen(scene, range(101), 0.9, (60.0, 30.0), timeouts=2, segments_out_of_order=3))
    assert [row[n] for n in ("least", "p5", "median", "p95", "most")] == pytest.approx([0, 5, 50, 95, 100], abs=0.01)
    assert [row[n] for n in ("utilisation", "mean")] == pytest.approx([0.9, 50], rel=1e-3)
    assert [row[n] for n in ("least_flow_mbps", "most_flow_mbps")] == pytest.approx([30, 60])
    assert [row[n] for n in ("marks", "drops", "timeouts", "out_of_order")] == [20, 7, 2, 3]


@pytest.mark.virtual
def test_real_tcp_over_a_delay_stands_at_the_marks(tmp_path):
    scene = dctcp.scene(100.0, "dctcp", 1)
    flows = tuple(msgspec.structs.replace(flow, start_s=0.05 * flow.sender) for flow in scene.flows)
    short = msgspec.structs.replace(scene, flows=flows, seconds=3.0, window=(1.0, 3.0), delay_ms=5.0)
    (found,) = played([short], tmp_path)
    assert found.utilisation > 0.97
    assert 10 <= dctcp.row(found)["median"] <= 25
    assert found.drops == 0
    assert min(found.flows, key=lambda one: one.first).first > 0.01, "a packet takes its sender's cable both ways"
