import pytest

from hifi import buffers
from tests.hifi.made import seen


def test_the_published_links():
    assert (buffers.HIFI.product, buffers.APPENZELLER.product) == (453, 1291)
    assert buffers.HIFI.rule(100) == pytest.approx(45.3)
    for flows, buffer, *_ in buffers.FIGURE_15[1::4]:
        assert buffer == pytest.approx(buffers.APPENZELLER.rule(flows), abs=0.6), "RTT C / sqrt(n)"


def test_a_scene_is_its_flows_over_a_long_delay():
    one = buffers.scene(buffers.HIFI, 100, "cubic", 45, buffers.SEARCH)
    assert (one.frames_that_fit, one.senders, len(one.flows)) == (45, 10, 100)
    assert 2 * one.delay_ms == 87
    assert max(flow.start_s for flow in one.flows) < one.window[0]


def played(needed):
    """Scenes in which a buffer of ``needed`` frames is enough, by number of flows."""
    asked = []

    def play(scenes):
        asked.extend(scenes)
        return [seen(one, [0, 0, 0], 1.0 if one.frames_that_fit >= needed[len(one.flows)] else 0.9) for one in scenes]

    return play, asked


@pytest.mark.parametrize("needed", [2, 17, 100, 453, 900])
def test_a_search_finds_the_smallest_buffer_that_is_enough(needed):
    play, asked = played({10: needed})
    (found,), points = buffers.search(buffers.HIFI, [("reno", 10, 0.99)], buffers.QUICK, play)
    short, least = found["short"], found["least"]
    assert short < needed <= least <= max(short + 1, buffers.FINE * short)
    assert len(points) == len(asked) <= 10


def test_searches_share_what_was_played():
    play, asked = played({10: 50, 100: 50})
    cases = [("reno", n, target) for n in (10, 100) for target in (0.98, 0.99)]
    first, second, *_ = buffers.search(buffers.HIFI, cases, buffers.QUICK, play)[0]
    assert len({one.name for one in asked}) == len(asked)
    assert first["least"] == second["least"]


def test_what_is_not_as_published_is_said():
    def least(packets, target):
        return {
            "flows": 100, "congestion_control": "reno", "target": target, "least": packets, "rule": 45.3,
        }  # fmt: skip

    assert buffers.missed([least(45, 0.98), least(90, 0.99)], []) == []
    assert buffers.missed([least(46, 0.98)], []) == ["reno, 100 flows: 46 packets for 98%, not 45"]
    scene = buffers.scene(buffers.APPENZELLER, 100, "reno", 64, buffers.QUICK)
    near, far = (buffers.point(buffers.APPENZELLER, seen(scene, [0, 0, 0], percent / 100)) for percent in (95.8, 90))
    assert buffers.missed([], [near]) == []
    assert buffers.missed([], [far]) == ["100 flows, 64 packets, reno: 90.0 %, ns-2 94.7, router 94.9"]
