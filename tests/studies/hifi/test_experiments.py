"""DCTCP's queue, times between packets, and the sizes of buffers, of scenes that nobody played; and two that are."""

import msgspec
import pytest
from click.testing import CliRunner

from harness.cli import cli
from studies.hifi import experiments
from studies.hifi.scene import Done, Look, Observed, Packet, play_scenes
from tests.studies.commands import is_png, rows


def with_gaps(one, *ideals, size=1514):
    """The same with packets, each so many times later than the one before as its bits take."""
    frame_s = size * 8e-6 / one.scene.mbps
    times = [one.scene.window[0] + frame_s * sum(ideals[:n]) for n in range(len(ideals) + 1)]
    return msgspec.structs.replace(one, packets=tuple(Packet(t, size) for t in times))


def seen(scene, queue_frames, utilisation=1.0, rates=(50.0, 50.0), **tcp):
    """A queue that stands at these frames in turn, and flows of these rates in Mb/s."""
    begin, end = scene.window
    step = (end - begin) / (len(queue_frames) - 1)
    bytes_per_s = utilisation * scene.mbps * 1e6 / 8
    looks = [
        Look(begin + n * step, round(frames * scene.frame_bytes), {}, round(bytes_per_s * n * step))
        for n, frames in enumerate(queue_frames)
    ]
    bins = round(scene.seconds / 0.1)
    flows = [
        Done(n, 0.0, 0.0, 0.0, scene.seconds, 0, (round(rate * 1e6 / 8 * 0.1),) * bins, 0)
        for n, rate in enumerate(rates, start=1)
    ]
    return Observed(scene, tuple(flows), tuple(looks), tcp, 7)


def test_the_original_s_network():
    one = experiments.make_dctcp_scene(100.0, "dctcp", 1)
    assert one.frames_that_fit == 425
    assert (one.delay_ms, one.window) == (0.075, (5.0, 60.0))
    assert "min 30000 max 35000" in one.shape.queue, "as the original gave it to RED"
    assert one.flows != experiments.make_dctcp_scene(100.0, "dctcp", 2).flows, "a seed is when flows start"
    assert experiments.make_dctcp_scene(1000.0, "dctcp", 1).mark_packets == 65


def test_a_row_is_the_distribution_of_the_queue():
    scene = experiments.make_dctcp_scene(100.0, "dctcp", 1, quick=True)
    row = experiments.make_dctcp_row(seen(scene, range(101), 0.9, (60.0, 30.0), timeouts=2, segments_out_of_order=3))
    assert [row[n] for n in ("least", "p5", "median", "p95", "most")] == pytest.approx([0, 5, 50, 95, 100], abs=0.01)
    assert [row[n] for n in ("utilisation", "mean")] == pytest.approx([0.9, 50], rel=1e-3)
    assert [row[n] for n in ("least_flow_mbps", "most_flow_mbps")] == pytest.approx([30, 60])
    assert [row[n] for n in ("marks", "drops", "timeouts", "out_of_order")] == [20, 7, 2, 3]


@pytest.mark.virtual
def test_real_tcp_over_a_delay_stands_at_the_marks(tmp_path):
    scene = experiments.make_dctcp_scene(100.0, "dctcp", 1)
    flows = tuple(msgspec.structs.replace(flow, start_s=0.05 * flow.sender) for flow in scene.flows)
    short = msgspec.structs.replace(scene, flows=flows, seconds=3.0, window=(1.0, 3.0), delay_ms=5.0)
    (found,) = play_scenes([short], tmp_path)
    assert found.utilisation > 0.97
    assert 10 <= experiments.make_dctcp_row(found)["median"] <= 25
    assert found.drops == 0
    assert min(found.flows, key=lambda one: one.first).first > 0.01, "a packet takes its sender's cable both ways"


def test_times_between_packets_are_held_against_what_their_bits_take():
    scene = experiments.make_fidelity_scene(100.0, 1)
    low, high = scene.window
    assert (high - low) / 25_000 == pytest.approx(121.12e-6), "as many packets as Mininet-HiFi kept"
    found = with_gaps(seen(scene, [20, 20, 20]), 1.0, 1.0, 0.997, 1.03, 0.4, 1.6, 2.5)
    row = experiments.make_fidelity_row(found)
    assert row["ideal_us"] == pytest.approx(121.12)
    assert [row[name] for name in ("packets", "least", "median", "most")] == pytest.approx([7, -60, 0, 150], abs=1e-4)
    bins = {row["from_percent"]: row["packets"] for row in experiments.make_histogram_rows(found) if row["packets"]}
    assert bins == {0: 2, 0.2: 1, 2: 1, 50: 2, 100: 1}
    small = with_gaps(found, 1.0, 1.5, size=66)
    assert small.off_ideal.tolist() == pytest.approx([0, 0.5], abs=1e-6), "of the packet's own bits"


@pytest.mark.virtual
def test_a_full_link_sends_evenly(tmp_path):
    short = msgspec.structs.replace(experiments.make_fidelity_scene(10.0, 1), seconds=4.0, window=(3.0, 4.0))
    (found,) = play_scenes([short], tmp_path)
    carried = sum(packet.bytes for packet in found.packets) * 8e-6
    assert carried == pytest.approx(10, rel=0.005), "Mb in this second: none is missed, and none counts twice"
    row = experiments.make_fidelity_row(found)
    assert -5 < row["least"] <= row["median"] <= row["most"] < 5


def test_the_published_links():
    assert (experiments.HIFI.product, experiments.APPENZELLER.product) == (453, 1291)
    assert experiments.HIFI.rule(100) == pytest.approx(45.3)
    for flows, buffer, *_ in experiments.FIGURE_15[1::4]:
        assert buffer == pytest.approx(experiments.APPENZELLER.rule(flows), abs=0.6), "RTT C / sqrt(n)"


def test_a_scene_is_its_flows_over_a_long_delay():
    one = experiments.make_buffer_scene(experiments.HIFI, 100, "cubic", 45, experiments.SEARCH)
    assert (one.frames_that_fit, one.senders, len(one.flows)) == (45, 10, 100)
    assert 2 * one.delay_ms == 87
    assert max(flow.start_s for flow in one.flows) < one.window[0]


@pytest.fixture
def asked(monkeypatch):
    """Scenes are not played: by number of flows, a buffer of ``needed`` frames is enough. All that were asked for."""
    wanted, needed = [], {}

    def played(scenes):
        wanted.extend(scenes)
        return [seen(one, [0, 0, 0], 1.0 if one.frames_that_fit >= needed[len(one.flows)] else 0.9) for one in scenes]

    monkeypatch.setattr(experiments, "play_scenes", played)
    return wanted, needed


@pytest.mark.parametrize("needed", [2, 17, 100, 453, 900])
def test_a_search_finds_the_smallest_buffer_that_is_enough(asked, needed):
    asked[1][10] = needed
    (found,), points = experiments.search(experiments.HIFI, [("reno", 10, 0.99)], experiments.QUICK)
    short, least = found["short"], found["least"]
    assert short < needed <= least <= max(short + 1, experiments.FINE * short)
    assert len(points) == len(asked[0]) <= 10


def test_searches_share_what_was_played(asked):
    asked[1].update({10: 50, 100: 50})
    cases = [("reno", n, target) for n in (10, 100) for target in (0.98, 0.99)]
    first, second, *_ = experiments.search(experiments.HIFI, cases, experiments.QUICK)[0]
    assert len({one.name for one in asked[0]}) == len(asked[0])
    assert first["least"] == second["least"]


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The command, with guests in which every queue is full of 20 frames and every link busy."""
    monkeypatch.chdir(tmp_path)
    full = [0.99, 1.01, 1.2, 1.0]
    monkeypatch.setattr(
        experiments, "play_scenes", lambda scenes: [with_gaps(seen(one, [20, 20, 20]), *full) for one in scenes]
    )

    def run(*words):
        done = CliRunner().invoke(cli, ["hifi", *words, "--out", "out"], catch_exceptions=False)
        assert done.exit_code == 0
        assert is_png(tmp_path / f"out/{words[0]}.png")
        return done

    return run


def test_dctcp_writes_rows_quantiles_and_a_picture(told, tmp_path):
    assert "Mininet-HiFi" in told("dctcp", "--seeds", "2").output
    assert len(rows(tmp_path / "out/dctcp.csv")) == 4
    assert len(rows(tmp_path / "out/dctcp-queue.csv")) == 4 * 101


def test_fidelity_has_a_row_per_run_and_theirs_beside(told, tmp_path):
    assert "Mininet-HiFi" in told("fidelity", "--seeds", "2").output
    assert [row["mbps"] for row in rows(tmp_path / "out/fidelity.csv")] == ["10", "10", "100", "100", "1000", "1000"]
    assert sum(int(row["packets"]) for row in rows(tmp_path / "out/fidelity-histogram.csv")) == 6 * 4


def test_buffers_quickly(told, tmp_path):
    told("buffers", "--quick")
    found = rows(tmp_path / "out/least.csv")
    assert [(row["flows"], row["target"], row["least"]) for row in found] == [("10", "0.99", "2"), ("100", "0.99", "2")]


def test_all_of_buffers_has_single_flows_and_appenzeller_s_cells(told, tmp_path):
    told("buffers", "--json")
    links = [row["link"] for row in rows(tmp_path / "out/buffers.csv")]
    assert links.count("appenzeller") == 16
    assert "hifi" in links
