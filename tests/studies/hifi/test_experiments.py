"""DCTCP's queue, and the sizes of buffers, of scenes that nobody played; and one that is."""

import msgspec
import pytest
from click.testing import CliRunner

from harness.cli.group import cli
from record.output import read_csv as rows
from studies.hifi import experiments
from studies.hifi.scene import Done, Look, Seen, played


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
    return Seen(scene, tuple(flows), tuple(looks), tcp, 7)


def test_the_original_s_network():
    one = experiments.dctcp_scene(100.0, "dctcp", 1)
    assert one.frames_that_fit == 425
    assert (one.delay_ms, one.window) == (0.075, (5.0, 60.0))
    assert "min 30000 max 35000" in one.shape.queue, "as the original gave it to RED"
    assert one.flows != experiments.dctcp_scene(100.0, "dctcp", 2).flows, "a seed is when flows start"
    assert experiments.dctcp_scene(1000.0, "dctcp", 1).mark_packets == 65


def test_a_row_is_the_distribution_of_the_queue():
    scene = experiments.dctcp_scene(100.0, "dctcp", 1, quick=True)
    row = experiments.dctcp_row(seen(scene, range(101), 0.9, (60.0, 30.0), timeouts=2, segments_out_of_order=3))
    assert [row[n] for n in ("least", "p5", "median", "p95", "most")] == pytest.approx([0, 5, 50, 95, 100], abs=0.01)
    assert [row[n] for n in ("utilisation", "mean")] == pytest.approx([0.9, 50], rel=1e-3)
    assert [row[n] for n in ("least_flow_mbps", "most_flow_mbps")] == pytest.approx([30, 60])
    assert [row[n] for n in ("marks", "drops", "timeouts", "out_of_order")] == [20, 7, 2, 3]


@pytest.mark.virtual
def test_real_tcp_over_a_delay_stands_at_the_marks(tmp_path):
    scene = experiments.dctcp_scene(100.0, "dctcp", 1)
    flows = tuple(msgspec.structs.replace(flow, start_s=0.05 * flow.sender) for flow in scene.flows)
    short = msgspec.structs.replace(scene, flows=flows, seconds=3.0, window=(1.0, 3.0), delay_ms=5.0)
    (found,) = played([short], tmp_path)
    assert found.utilisation > 0.97
    assert 10 <= experiments.dctcp_row(found)["median"] <= 25
    assert found.drops == 0
    assert min(found.flows, key=lambda one: one.first).first > 0.01, "a packet takes its sender's cable both ways"


def test_the_published_links():
    assert (experiments.HIFI.product, experiments.APPENZELLER.product) == (453, 1291)
    assert experiments.HIFI.rule(100) == pytest.approx(45.3)
    for flows, buffer, *_ in experiments.FIGURE_15[1::4]:
        assert buffer == pytest.approx(experiments.APPENZELLER.rule(flows), abs=0.6), "RTT C / sqrt(n)"


def test_a_scene_is_its_flows_over_a_long_delay():
    one = experiments.buffer_scene(experiments.HIFI, 100, "cubic", 45, experiments.SEARCH)
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

    monkeypatch.setattr(experiments, "played", played)
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
    monkeypatch.setattr(experiments, "played", lambda scenes: [seen(one, [20, 20, 20]) for one in scenes])

    def run(*words):
        return CliRunner().invoke(cli, ["hifi", *words, "--out", "out"], catch_exceptions=False)

    return run


def test_dctcp_writes_rows_quantiles_and_a_picture(told, tmp_path):
    done = told("dctcp", "--seeds", "2")
    assert done.exit_code == 0
    assert "Mininet-HiFi" in done.output
    assert len(rows(tmp_path / "out/dctcp.csv")) == 4
    assert len(rows(tmp_path / "out/dctcp-queue.csv")) == 4 * 101
    assert (tmp_path / "out/dctcp.png").read_bytes().startswith(b"\x89PNG")


def test_buffers_quickly(told, tmp_path):
    done = told("buffers", "--quick")
    assert done.exit_code == 0
    found = rows(tmp_path / "out/least.csv")
    assert [(row["flows"], row["target"], row["least"]) for row in found] == [("10", "0.99", "2"), ("100", "0.99", "2")]
    assert (tmp_path / "out/buffers.png").read_bytes().startswith(b"\x89PNG")


def test_all_of_buffers_has_single_flows_and_appenzeller_s_cells(told, tmp_path):
    done = told("buffers", "--json")
    assert done.exit_code == 0
    links = [row["link"] for row in rows(tmp_path / "out/buffers.csv")]
    assert links.count("appenzeller") == 16
    assert "hifi" in links
