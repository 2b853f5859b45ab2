import pytest

from studies.hifi import buffers
from tests.studies.hifi.made import seen


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


@pytest.fixture
def asked(monkeypatch):
    """Scenes are not played: by number of flows, a buffer of ``needed`` frames is enough. All that were asked for."""
    wanted, needed = [], {}

    def played(scenes):
        wanted.extend(scenes)
        return [seen(one, [0, 0, 0], 1.0 if one.frames_that_fit >= needed[len(one.flows)] else 0.9) for one in scenes]

    monkeypatch.setattr(buffers, "played", played)
    return wanted, needed


@pytest.mark.parametrize("needed", [2, 17, 100, 453, 900])
def test_a_search_finds_the_smallest_buffer_that_is_enough(asked, needed):
    asked[1][10] = needed
    (found,), points = buffers.search(buffers.HIFI, [("reno", 10, 0.99)], buffers.QUICK)
    short, least = found["short"], found["least"]
    assert short < needed <= least <= max(short + 1, buffers.FINE * short)
    assert len(points) == len(asked[0]) <= 10


def test_searches_share_what_was_played(asked):
    asked[1].update({10: 50, 100: 50})
    cases = [("reno", n, target) for n in (10, 100) for target in (0.98, 0.99)]
    first, second, *_ = buffers.search(buffers.HIFI, cases, buffers.QUICK)[0]
    assert len({one.name for one in asked[0]}) == len(asked[0])
    assert first["least"] == second["least"]
