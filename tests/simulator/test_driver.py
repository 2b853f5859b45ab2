import numpy as np
import pytest

from hedera.schemes import SCHEMES
from simulator import config as settings
from simulator.config import Config
from simulator.driver import Simulation, simulate
from tests.refused import refused
from traffic.patterns import PUBLISHED, published

PERMUTATIONS = [n for n in PUBLISHED if len(set(published(n).dst)) == len(published(n)) == 16]
ALL_16 = 16 * 4700 / 6


@pytest.mark.parametrize("name", PERMUTATIONS)
def test_a_permutation_is_12533_without_blocking_and_annealing_within_two_percent_of_that(name):
    control, annealing = (
        simulate(Config(scheme, f"published:{name}")).bisection_mbps for scheme in ("nonblocking", "hedera-sa")
    )
    assert control == pytest.approx(12533.3, abs=0.5)
    assert annealing == pytest.approx(ALL_16, rel=0.02)


@pytest.mark.parametrize("engine", ["aimd", "maxmin"])
@pytest.mark.parametrize("scheme", [name for name, scheme in SCHEMES.items() if not scheme.plans])
def test_every_scheme_runs_and_does_not_beat_the_links(scheme, engine):
    found = simulate(Config(scheme, "published:rand1", seconds=12.0, engine=engine))
    receivers = np.bincount(found.dst, weights=found.mbps, minlength=16)
    assert 0 < found.bisection_mbps <= found.capacity_mbps == 16_000
    assert receivers.max() <= 1000 + 1e-6
    assert found.mbps.sum() == pytest.approx(found.bisection_mbps)
    assert bool(found.rounds) == scheme.startswith("hedera")


@pytest.mark.parametrize("engine", ["aimd", "maxmin"])
@pytest.mark.parametrize("network", [("leaf-spine:4,2,4", 2.0), ("leaf-spine:4,2,4", 0.5), (None, 2.0)])
def test_no_scheme_beats_the_bound_of_another_network(network, engine):
    """On a leaf-spine at 2:1 each leaf sends at most two links' worth; at 1:2, and inside it, hosts are the limit."""
    topology, over = network
    found = {
        scheme: simulate(
            Config(scheme, "stride:4", seconds=12.0, tick_s=0.01, topology=topology, oversubscribe=over, engine=engine)
        )
        for scheme in ("nonblocking", "ecmp", "hedera-gff", "hedera-sa", *(["spray"] if engine == "maxmin" else []))
    }
    assert found["nonblocking"].bound_mbps == pytest.approx(16_000)
    bound = min(16_000.0, 16_000 / over)
    for scheme, one in found.items():
        if scheme != "nonblocking":
            assert one.bound_mbps == pytest.approx(bound)
        assert 0.3 * bound < one.bisection_mbps <= one.bound_mbps + 1e-3
    if engine == "maxmin":
        assert found["spray"].bisection_mbps == pytest.approx(bound)
    if over < 1:  # a lone flow per host and room for all: nothing can collide
        assert found["ecmp"].bisection_mbps == pytest.approx(found["nonblocking"].bisection_mbps, rel=0.01)


CHAIN = """
class Chain:
    hosts = 4
    def links(self):
        yield from [(0, "s0"), (1, "s6"), (2, "s7"), (3, "s7")]
        yield from ((f"s{n}", f"s{n + 1}") for n in range(7))
    def paths(self, src, dst):
        a, b = (0, 6, 7, 7)[src], (0, 6, 7, 7)[dst]
        return [[f"s{n}" for n in range(a, b + 1)] if a < b else [f"s{n}" for n in range(a, b - 1, -1)]]
"""


@pytest.mark.parametrize("engine", ["aimd", "maxmin"])
def test_a_path_of_eight_switches_shares_its_last_cable(engine, tmp_path):
    (tmp_path / "chain.py").write_text(CHAIN)
    (tmp_path / "m.csv").write_text("src,dst\n0,2\n1,3\n")
    where = {"topology": f"{tmp_path}/chain.py:Chain", "engine": engine}
    both = simulate(Config("ecmp", f"file:{tmp_path}/m.csv", seconds=12.0, **where))
    assert both.bisection_mbps <= 1000 + 1e-6
    assert both.mbps.min() > 400


@pytest.mark.parametrize("scheme", ["ecmp", "spanning-tree", "hedera-gff", "nonblocking"])
@pytest.mark.parametrize("name", ["stride8", "rand0", "randx3"])
def test_aimd_comes_near_to_max_min_from_below(scheme, name):
    """The paths are the same; AIMD wastes what it frees, at most half of a lone flow's link for a while."""
    real, ideal = (
        simulate(Config(scheme, f"published:{name}", engine=engine)).bisection_mbps for engine in ("aimd", "maxmin")
    )
    assert 0.75 * ideal < real < 1.02 * ideal


def test_flows_start_on_hashed_paths_and_are_placed_after_the_first_period():
    config = Config("hedera-sa", "published:stride8", seconds=30.0, interval_s=5.0)
    hashed = simulate(Config("ecmp", "published:stride8", seconds=30.0))
    found = simulate(config)
    before, after = slice(1000, 5000), slice(6000, 30_000)
    assert (found.total_mbps[:5000] == hashed.total_mbps[:5000]).all()
    assert found.total_mbps[before].mean() < 0.9 * ALL_16
    assert found.total_mbps[after].mean() == pytest.approx(ALL_16, rel=0.01)
    assert [one.t for one in found.rounds] == [5.0, 10.0, 15.0, 20.0, 25.0]
    assert found.rounds[0].changed > 0
    assert [one.changed for one in found.rounds[1:]] == [0, 0, 0, 0], "nothing to mend any more"
    assert [one.large for one in found.rounds] == [16] * 5


@pytest.mark.parametrize(("tick_s", "interval_s"), [(0.1, 0.25), (0.001, 0.0015), (0.1, 0.1)])
def test_a_rate_is_over_the_period_that_passed(tick_s, interval_s):
    """Where the interval is no multiple of the tick, rounds come at the nearest one."""
    config = Config("hedera-gff", "stride:1", seconds=6 * tick_s, tick_s=tick_s, interval_s=interval_s, engine="maxmin")
    simulation = Simulation(config)
    seen, poll = [], simulation.counters.poll
    simulation.counters.poll = lambda *asked: seen.append(poll(*asked)) or seen[-1]
    simulation.run()
    assert seen
    assert np.concatenate([speed for *_, speed in seen]) == pytest.approx(1e9 / 8)


# --- flows that come and go ------------------------------------------------------------------------------------


def dynamic(scheme="nonblocking", load=0.1, **changes):
    return Config(scheme, f"poisson:exponential:6250000,{load} to randbij", seconds=60.0, **changes)


@pytest.mark.parametrize("engine", ["aimd", "maxmin"])
def test_flows_arrive_are_served_and_leave(engine):
    found = simulate(dynamic(engine=engine, tick_s=0.002))
    arrivals = found.src.size
    assert arrivals == pytest.approx(16 * 2.0 * 60.0, abs=4 * np.sqrt(16 * 2.0 * 60.0))
    offered = 16 * 2.0 * 6.25 * 8
    assert found.bisection_mbps == pytest.approx(offered, rel=0.15), "a light load is carried whole"
    assert found.completion_s.size > 0.95 * arrivals
    assert (found.completion_s > 0).all()
    # Nothing is faster than its size at the link's rate.
    done = np.isfinite(found.end_s)
    assert (found.completion_s >= found.sent_bytes[done] * 8 / 1e9 - 1e-9).all()


def test_a_run_in_which_nothing_arrives_is_a_run():
    found = simulate(dynamic("hedera-gff", load=1e-9))
    assert found.src.size == 0
    assert found.bisection_mbps == 0


def test_a_shuffle_takes_turns_and_ends():
    found = simulate(Config("nonblocking", "shuffle:2000000", seconds=6.0))
    assert found.src.size == 240
    assert np.isfinite(found.end_s).all()
    for host in range(16):
        mine = np.flatnonzero(found.src == host)
        order = mine[np.argsort(found.start_s[mine])]
        assert (found.start_s[order][1:] >= found.end_s[order][:-1]).all(), "one at a time"
    assert found.total_mbps[-1] == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"scheme": "hedera"}, "no scheme 'hedera'"),
        ({"k": 5}, "-k must"),
        ({"link_mbps": float("inf")}, "--bw"),
        ({"fail": ("switch:9_9_9@2",)}, "no switch '9_9_9'"),
        ({"traffic": "strude:1"}, "no traffic pattern"),
        ({"engine": "ns3"}, "--engine must be one of aimd, maxmin, not 'ns3'"),
        ({"seconds": 0.0}, "--seconds must be above 0"),
        ({"seconds": 0.005}, "too short"),
        ({"interval_s": 0.0001}, "shorter than a tick"),
        ({"seconds": 1e8 + 0.5, "tick_s": 1.0, "interval_s": 5.0}, "more than 100,000,000 ticks"),
        ({"scheme": "planned"}, "scheme 'planned' is for collectives, and traffic 'stride:1' is none"),
        ({"scheme": "ecmp-x4"}, "scheme 'ecmp-x4' is for collectives"),
        ({"scheme": "spray", "traffic": "ring:4,8", "fail": ("link:0_2_1-4_1_1@1",)}, "needs --engine maxmin"),
        ({"scheme": "spanning-tree", "topology": "leaf-spine:4,2,4"}, "'spanning-tree' is for a fat-tree: paths"),
        ({"scheme": "hedera-clos", "topology": "leaf-spine:4,2,4"}, "is for a fat-tree whose links all have one rate"),
        ({"traffic": "staggered:.2,.3", "topology": "leaf-spine:4,2,4"}, "needs the pods of a fat-tree"),
        ({"topology": "leaf-spine:4,0,4"}, "no topology 'leaf-spine:4,0,4'"),
        ({"traffic": "poisson:fixed:1,1"}, r"would be 1.2e\+11 flows in 60 s; 10,000,000 is the limit"),
        ({"scheme": "hedera-gff", "detect_s": 9.0}, "once a tick at most and once a period at least"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(change, sentence):
    with refused(sentence):
        Simulation(Config(**{"scheme": "ecmp", "traffic": "stride:1", **change}))
    assert Config("ecmp", "stride:1", seconds=1e8, tick_s=1.0).ticks == 100_000_000, "the most"


def test_more_flows_than_memory_are_refused_before_any_is_drawn(tmp_path, monkeypatch):
    config = Config("ecmp", "poisson:web-search,0.5", seconds=10.0)
    assert 5_000 < len(config.flows()[0]) < 7_000
    free = tmp_path / "meminfo"
    monkeypatch.setattr(settings, "_FREE", free)
    free.write_text("MemTotal:       16000 kB\nMemAvailable:    2000 kB\n")
    told = r"would be 5\.8\d+e\+03 flows in 10 s, which take some 0\.0 GB of memory; 0\.0 GB are free"
    with pytest.raises(ValueError, match=told):
        config.flows()
    free.unlink()
    assert len(config.flows()[0]) > 5_000, "a system that does not tell"
