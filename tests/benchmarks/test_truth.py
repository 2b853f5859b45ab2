"""What benchmarks.truth makes of what was seen; one scene is played in a guest."""

from types import SimpleNamespace

import msgspec
import pytest

from benchmarks import truth
from record.run import FlowRecord, PathChange
from studies.hifi.scene import Done, Flow, Look, Observed, Scene, play_scenes
from tests.record.test_run import run
from topos.fattree import FatTree

RUN = run(traffic="poisson:web-search,0.5")
SCENE = Scene(name="two", mbps=10.0, flows=(Flow(1, 0.0), Flow(2, 0.0)), seconds=3.0, window=(0.5, 1.5))


def done(sender=1, start=0.0, last=1.0, bins=(0,) * 20, **more):
    kept = {"retransmissions": 0, "bytes": sum(bins), "first": start, **more}
    return Done(sender=sender, start_s=start, accepted=start, last=last, bins=bins, **kept)


def seen(*flows, scene=SCENE, looks=(), **tcp):
    return Observed(scene, flows, looks, tcp, 3)


def test_goodput_is_of_the_whole_bins_in_the_window():
    rising = tuple(range(0, 20_000, 1000))
    told = seen(done(bins=rising), done(2, bins=(1000,) * 20))
    # of a second, from the fifth bin of a tenth on
    assert told.goodput == pytest.approx([sum(rising[5:15]) * 8e-6, 10_000 * 8e-6])


def test_a_queue_is_told_as_time():
    looks = [Look(0.4, 10_000, {}), Look(0.5, 12_500, {1: 10.0, 2: 20.0}), Look(1.5, 0, {1: 3.0})]
    told = truth.describe_lasting(seen(done(bins=(9,) * 20), looks=looks))
    assert [told[f"queue_{what}_ms"] for what in ("max", "mean")] == pytest.approx([10.0, 5.0]), (
        "12,500 bytes at 10 Mb/s, in the window"
    )
    assert [told[f"rtt_{what}_ms"] for what in ("max", "mean")] == pytest.approx([20.0, 11.0])


def test_an_incast_is_told_by_its_slowest_transfer():
    scene = next(group for group in truth.list_scenes() if group[0].name == "incast-1000-4-200ms")[0]
    assert scene.senders == 4
    flows = [
        done(flow.sender, flow.start_s, flow.start_s + (0.3 if flow.sender == 2 else 0.01)) for flow in scene.flows
    ]
    first, *others = truth.list_incasts(seen(*flows, scene=scene, timeouts=5))
    assert len(others) == len(truth.SEEDS) - 1
    # 4 x 256 kB at 956.4 Mb/s, after a frame's time on the sender's link
    assert first["ideal_ms"] == pytest.approx(4 * 256_000 * 8 / 956.407e3 + 0.012112, rel=1e-4)
    assert first["took_ms"] == pytest.approx(300, abs=0.2)
    assert first["median_flow_ms"] == pytest.approx(10)


def test_ns3_gets_the_paths_and_the_time_of_a_full_segment():
    flow = FlowRecord(
        src=0,
        dst=8,
        src_port=7000,
        start=1.0,
        mbps=1.0,
        size_bytes=5000,
        connect_s=0.25,
        completion_s=0.5,
        paths=(PathChange(t=1.0, core=3),),
    )
    lost = msgspec.structs.replace(flow, src_port=7001, paths=())
    one = msgspec.structs.replace(RUN, flows=(lost, flow))
    topo = FatTree(4)
    flows, asked = truth.make_scenario(one, topo)
    assert flows == [1]
    (connection,) = asked["connections"]
    assert [connection["client"], *connection["path"], connection["server"]] == list(topo.path(0, 8, 3))
    assert asked["exchanges"]["request_bytes"] == [5000]
    frame_s = (asked["tcp"]["segment_bytes"] + 40) * 8 / asked["links"][0]["rate_bps"]
    assert frame_s == pytest.approx(1514 * 8 / 10e6)
    assert len(asked["links"]) == 2 * 48


def test_ns3_fills_the_links_of_flows_that_last():
    flow = FlowRecord(src=0, dst=8, src_port=7000, start=1.0, mbps=1.0, paths=(PathChange(t=1.0, core=3),))
    _, asked = truth.make_scenario(msgspec.structs.replace(RUN, flows=(flow,)), FatTree(4), drain_s=0.0)
    (size,) = asked["exchanges"]["request_bytes"]
    (start,) = asked["exchanges"]["start_ns"]
    assert size * 8e9 >= asked["links"][0]["rate_bps"] * (asked["end_ns"] - start) * 0.999


@pytest.mark.virtual
def test_a_scene_in_a_guest_is_as_arithmetic_says(tmp_path):
    """A lone flow, behind a faster link, fills its link, and never more than its queue."""
    scene = Scene(
        name="one", mbps=10.0, flows=(Flow(1, 0.0),), seconds=6.0, window=(2.0, 6.0), access=10.0, every_s=0.05
    )
    (found,) = play_scenes([scene], tmp_path)
    assert found.goodput.sum() == pytest.approx(scene.payload_mbps, rel=0.02)
    assert found.queue_packets.max() <= scene.frames_that_fit
    assert play_scenes([scene], tmp_path) == [found], "kept, and not played again"


def test_links_alone_make_a_row_of_each_scene_and_of_each_incast(tmp_path, monkeypatch):
    seen = [SimpleNamespace(scene=SimpleNamespace(name=name)) for name in ("one-10-1", "incast-1000-2-5ms")]
    monkeypatch.setattr(truth, "list_scenes", lambda: [seen])
    monkeypatch.setattr(truth, "play_scenes", lambda group, kept: group)
    monkeypatch.setattr(truth, "describe_lasting", lambda one: {"kind": one.scene.name})
    monkeypatch.setattr(truth, "list_incasts", lambda one: [{"time": 1}, {"time": 2}])
    alone, at_once = truth.make_theory(tmp_path, tmp_path)
    assert alone.read_text().split() == ["kind", "one-10-1"]
    assert at_once.read_text().split() == ["time", "1", "2"]
