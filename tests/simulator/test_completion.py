"""Traffic that comes and goes, and what is said about its flows."""

import numpy as np
import pytest

from record.completion_times import CLASSES
from simulator.config import Config
from simulator.driver import Simulation, simulate
from traffic.workload import make_workload

TICK = 0.0001


@pytest.fixture
def listed(tmp_path):
    def write(*rows):
        path = tmp_path / "flows.csv"
        lines = ["src_host,dst_host,start_s,size_bytes", *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
        return f"file:{path}"

    return write


@pytest.mark.parametrize("engine", ["aimd", "maxmin"])
def test_flows_that_meet_nobody_have_a_slowdown_of_1(listed, engine):
    sizes = [1, 1500, 9000, 100_000, 3_000_000, 20_000_000]
    spec = listed(*((n, 15 - n, 0.25 + 0.001 * n, size) for n, size in enumerate(sizes)))
    found = simulate(Config("nonblocking", spec, seconds=1.0, tick_s=TICK, engine=engine))
    every, small, medium, large = found.completion()
    assert [one.flows for one in (every, small, medium, large)] == [6, 4, 1, 1]
    assert every.mean_slowdown == pytest.approx(1.0, abs=1e-6)
    assert every.p99_slowdown == pytest.approx(1.0, abs=1e-6)
    assert every.known_share == 1.0
    if engine == "maxmin":
        assert large.mean_s == pytest.approx(20_000_000 * 8e-9)
    else:
        # Slow start, then cycles of 783.3 Mb/s (section 5.5).
        assert large.mean_s == pytest.approx(20_000_000 * 8 / 783.33e6, rel=0.01)


@pytest.mark.parametrize(("engine", "scheme"), [("aimd", "ecmp"), ("maxmin", "ecmp"), ("maxmin", "spray")])
@pytest.mark.parametrize("network", [{"oversubscribe": 4.0}, {"topology": "leaf-spine:4,2,4", "oversubscribe": 8.0}])
def test_a_flow_alone_on_links_of_several_rates_has_a_slowdown_of_1(listed, engine, scheme, network):
    spec = listed((0, 4, 0.25, 1_250_000), (0, 1, 0.7, 1_250_000))
    found = simulate(Config(scheme, spec, seconds=1.2, tick_s=TICK, engine=engine, **network)).completion()[0]
    assert found.mean_slowdown == pytest.approx(1.0, abs=1e-3)
    assert found.p99_s > 1.9 * found.median_s / 1.5, "the first takes the slow links"


def test_flows_cut_off_by_the_end_count_with_their_bound(listed):
    spec = listed((0, 4, 0.2, 10_000_000), (1, 4, 0.2, 200_000_000), (2, 5, 0.2, 1000), (3, 6, 0.95, 1000))
    found = simulate(Config("nonblocking", spec, seconds=1.0, tick_s=TICK, engine="maxmin"))
    every, *_, large = found.completion()
    assert (every.flows, every.cut_off) == (3, 1), "the fourth begins after the window"
    # The large one has 0.72 s of the link for itself after sharing it for 0.16 s, and would need 0.88 s more.
    assert large.mean_s == pytest.approx((0.16 + 0.08 + 1.6) / 2, rel=0.01)
    # Its slowdown is 1.05 at least: above that of the small flow, and not of the other one, which is 2.
    assert large.mean_slowdown == pytest.approx((2 + 1.05) / 2, rel=0.01)
    assert every.known_share == 1 / 3


def test_a_start_on_a_tick_is_in_that_tick(listed):
    spec = listed((0, 4, 0.057, 1000), (1, 5, 0.058, 1000))
    found = simulate(Config("ecmp", spec, seconds=0.3, tick_s=0.001))
    assert found.began_s == pytest.approx([0.057, 0.058], abs=1e-9)


def test_all_schemes_are_judged_by_the_same_flows():
    results = [
        simulate(Config(scheme, "poisson:web-search,0.6", seconds=1.2, tick_s=0.001, seed=4))
        for scheme in ("nonblocking", "spanning-tree")
    ]
    control, tree = results
    assert control.src.tolist() == tree.src.tolist()
    assert control.size_bytes.tolist() == tree.size_bytes.tolist()
    for ours, theirs in zip(control.completion(), tree.completion(), strict=True):
        assert ours.size_class == theirs.size_class in CLASSES
        assert ours.flows == theirs.flows
    assert tree.completion()[0].cut_off > control.completion()[0].cut_off
    assert tree.completion()[0].mean_slowdown > control.completion()[0].mean_slowdown


def test_both_engines_and_every_scheme_take_the_flows_and_ports_of_the_workload():
    config = Config("ecmp", "stride:4 + poisson:fixed:10000,0.05", seconds=0.5, tick_s=0.001)
    flows = list(make_workload(config.traffic, config.tree, 1, seconds=0.5))
    for engine in ("aimd", "maxmin"):
        found = Simulation(Config("ecmp", config.traffic, seconds=0.5, tick_s=0.001, engine=engine))
        assert found.work.src.tolist() == [flow.src for flow in flows]
        assert found.paths.ports.tolist() == [flow.src_port for flow in flows]
        result = found.run()
        assert np.isnan(result.end_s[:16]).all(), "the elephants last"
        assert np.isfinite(result.end_s[16:]).mean() > 0.95
        assert result.as_json()["completion"][0]["flows"] == result.completion()[0].flows > 0


def test_global_first_fit_re_routes_upon_detection_and_annealing_waits():
    base = {"traffic": "published:stride8", "seconds": 6.0, "detect_s": 0.25}
    gff, annealing = (simulate(Config(scheme, **base)) for scheme in ("hedera-gff", "hedera-sa"))
    assert [one.t for one in annealing.rounds] == [5.0]
    assert [one.t for one in gff.rounds[:3]] == [0.25, 0.5, 0.75]
    assert gff.rounds[0].changed > 0
    assert not any(one.changed for one in gff.rounds[1:]), "pinned to its reserved links"
