"""What an experiment and a run are: ranges of their fields, what follows from these, what `auto` comes to."""

import dataclasses
from dataclasses import dataclass
from math import inf, nan
from typing import Annotated

import pytest
from msgspec import Meta

from harness.run.emulation import Emulation
from harness.run.observation import Observation
from record.errors import UserMistake
from record.spec import (
    MEASURED_DELAY_MS,
    Disturbance,
    Experiment,
    Phantom,
    RunSpec,
    check,
    described,
    list_options,
    one_of,
    split_phases,
)
from simulator.config import Config
from topos.fattree import FatTree
from topos.network import NonBlocking

EPSILON = 1e-9


@dataclass(frozen=True)
class Wide:
    rate_mbps: Annotated[float, Meta(gt=0), described("Rate of a link, Mb/s.", option="--bw")] = 10.0
    seconds: Annotated[float, Meta(ge=3, le=60), described("How long.")] = 5.0
    share: Annotated[float, Meta(ge=0, lt=1), described("Of a link.")] = 0.1
    word: Annotated[str, one_of("one", "two"), described("A word.")] = "one"
    missing: Annotated[Annotated[int, Meta(ge=1)] | None, described("Rare.")] = None
    plain: int = 7

    def __post_init__(self):
        check(self)


@dataclass(frozen=True)
class Narrow(Wide):
    rate_mbps: Annotated[float, Meta(ge=1)] = 20.0


@pytest.mark.parametrize(
    ("name", "within", "beyond", "allowed"),
    [
        ("rate_mbps", [EPSILON, 1], [0.0, inf, nan, "fast"], "above 0"),
        ("seconds", [3, 60], [3 - EPSILON, 60 + EPSILON], "at least 3 and at most 60"),
        ("share", [0, 1 - EPSILON], [-EPSILON, 1.0], "at least 0 and below 1"),
        ("word", ["two"], ["three", "two\n"], "one of one, two"),
        ("missing", [None, 1], [0], "at least 1"),
        ("plain", [-9], [], ""),
    ],
)
def test_what_is_within_its_range_is_taken_and_what_is_outside_refused(name, within, beyond, allowed):
    for value in within:
        Wide(**{name: value})
    for value in beyond:
        option = list_options(Wide)[name]
        with pytest.raises(UserMistake, match=f"{option.name} must be {allowed}, not "):
            Wide(**{name: value})


def test_a_backend_narrows_a_range_and_keeps_the_rest():
    option = list_options(Narrow)["rate_mbps"]
    assert (option.help, option.name, option.allowed) == ("Rate of a link, Mb/s.", "--bw", "at least 1")
    assert (option.default, option.kind, next(iter(list_options(Narrow)))) == (20.0, float, "rate_mbps")
    with pytest.raises(UserMistake, match="--bw"):
        Narrow(rate_mbps=0.5)


# --- experiments ------------------------------------------------------------------------------------------------------


def test_what_follows_from_its_fields():
    one = Experiment("hedera-sa", "stride:4", seconds=60.0, link_mbps=10.0, iterations=7)
    assert one.network() == one.tree == FatTree(4)
    assert one.capacity_mbps == 160.0
    assert one.window_s == (10.0, 50.0)
    assert one.matrix().dst.tolist() == [(h + 4) % 16 for h in range(16)]
    placement = one.chosen.placement(one.tree, one.seed, one.options)
    assert placement.iterations == 7


def test_the_control_has_the_same_hosts_and_flows_on_another_network():
    control = Experiment("nonblocking", "staggered:0.2,0.3", seed=3)
    assert isinstance(control.network(), NonBlocking)
    assert (control.matrix().dst == Experiment("ecmp", "staggered:0.2,0.3", seed=3).matrix().dst).all()


def test_phases_cut_the_window_and_widen_it_where_they_must():
    assert split_phases([], (10, 50), 60) == [(10, 50)]
    assert split_phases([20, 40], (10, 50), 60) == [(10, 20), (20, 40), (40, 50)]
    assert split_phases([4], (10, 50), 60) == [(2, 4), (4, 50)]
    assert split_phases([56], (10, 50), 60) == [(10, 56), (56, 58)]


# --- runs -------------------------------------------------------------------------------------------------------------

LASTING = {"new_flows": "controller", "large_flows": "measured"}
COMES_AND_GOES = {"new_flows": "switch", "large_flows": "measured"}


ESTIMATED = {"large_flows": "measured-or-estimated"}


def test_every_backend_has_the_papers_rule_for_large_flows():
    assert Experiment.large_flows == RunSpec.large_flows == Config.large_flows == "measured"


@pytest.mark.parametrize(
    ("traffic", "asked", "settled"),
    [
        ("stride:4", {}, LASTING),
        ("published:randx2", {}, LASTING),
        ("shuffle:20000", {}, COMES_AND_GOES),
        ("poisson:web-search,0.3", {}, COMES_AND_GOES),
        ("stride:4 + poisson:fixed:10000,0.05", {}, COMES_AND_GOES),
        ("stride:4", COMES_AND_GOES, COMES_AND_GOES),
        ("shuffle:20000", ESTIMATED, COMES_AND_GOES | ESTIMATED),
        ("shuffle:20000", {"ack_paths": "with-data"}, LASTING),  # who knows both ways of a connection
    ],
)
def test_traffic_decides_what_is_left_to_it(traffic, asked, settled):
    spec = RunSpec("hedera-gff", traffic, seconds=5, scale_sizes=False, **asked).for_its_traffic()
    assert spec.for_its_traffic() == spec
    assert {name: getattr(spec, name) for name in LASTING} == settled


@pytest.mark.parametrize("hash", ["unsalted:destination", "ovs:5-tuple", "linux:5-tuple", "unsalted:edge-pair"])
def test_switches_give_flows_their_paths_where_they_have_the_hash(hash):
    spec = RunSpec(f"hedera-gff@{hash}", "shuffle:20000", seconds=5, scale_sizes=False).for_its_traffic()
    assert spec.new_flows == ("switch" if hash in ("unsalted:destination", "ovs:5-tuple") else "controller")


@pytest.mark.parametrize(
    ("time", "asked", "late_ms"),
    [("virtual", None, MEASURED_DELAY_MS), ("virtual", 0.0, 0.0), ("virtual", 100.0, 100.0), ("real", None, 0.0)],
)
def test_what_a_controller_takes_follows_from_the_time(time, asked, late_ms):
    spec = RunSpec("ecmp", "stride:4", time=time, controller_delay_ms=asked)
    assert spec.as_json()["controller_delay_ms"] == late_ms
    undecided = RunSpec("ecmp", "stride:4", controller_delay_ms=asked)
    assert undecided.controller_delay_ms == asked
    assert dataclasses.replace(undecided, time=time) == spec


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"time": "real", "controller_delay_ms": 8.0}, "is for virtual time"),
        ({"time": "virtual", "host_cpu": 0.5}, "--host-cpu is for real time: in virtual time computing takes none"),
        ({"host_cpu": 0.0}, "--host-cpu must be above 0 and at most 1, not 0"),
        ({"time": "virtual", "controller_delay_ms": -1.0}, "--controller-delay must be at least 0 and at most 1000"),
        ({"topology": "leaf-spine:4,2,4", "new_flows": "switch"}, "--new-flows switch is for fat-trees"),
        ({"scheme": "ecmp@crc32:5-tuple", "new_flows": "switch"}, "cannot give a flow its path by crc32:5-tuple"),
        ({"scheme": "ecmp-edge-pair", "new_flows": "switch"}, "cannot give a flow its path by salted:edge-pair"),
        ({"time": "real", "interval_s": 0.5}, "--interval must be at least 1 s in real time"),
        ({"time": "virtual", "interval_s": 0.01}, "--interval must be at least 0.02 and at most 3600"),
        ({"oversubscribe": 101.0}, "rates of links are 0.1 to 1e.06 Mb/s, not 0.0990099 to 10"),
        ({"scheme": "spray", "time": "real"}, "scheme 'spray' takes our guests' kernel: --time virtual"),
        ({"scheme": "flowlet:9", "topology": "docs/examples/four_ring.py:Ring"}, "on a fat-tree or a leaf-spine"),
        ({"scheme": "spray", "fail": ("link:0_2_1-4_1_1@1",)}, "on a fat-tree or a leaf-spine, without --fail"),
        ({"pcap": ("0_0_1-eth9",)}, "--pcap: there is no port '0_0_1-eth9' in this network; there are 0_0_1-eth1"),
        ({"ack_paths": "with-data", "new_flows": "switch"}, "takes --new-flows controller"),
        ({"ack_paths": "with-data", "scheme": "spray"}, "under 'spray' data has no path of its own"),
        ({"ack_paths": "back"}, "--ack-paths must be one of hashed, with-data, not 'back'"),
        ({"time": "real", "hystart": False}, "--no-hystart is for virtual time"),
        ({"hystart": False, "congestion_control": "reno"}, "--no-hystart is for cubic: reno has no HyStart"),
        ({"initial_window": 0}, "--initial-window must be at least 1 and at most 1000"),
        ({"large_flows": "all"}, "one of measured, measured-or-estimated, not 'all'"),
        ({"congestion_control": "dctcp", "time": "real", "phantom": "0.9:1"}, "--phantom takes our guests' kernel"),
        ({"congestion_control": "dctcp", "time": "real", "pacer": "front"}, "--pacer takes our guests' kernel"),
        ({"phantom": "0.95:2500"}, "--phantom is for --congestion-control dctcp: cubic sees no marks"),
        ({"pacer": "front"}, "--pacer is for --congestion-control dctcp: cubic echoes no marks"),
        ({"congestion_control": "dctcp", "pacer": "above"}, "--pacer must be one of front, behind, not 'above'"),
        ({"congestion_control": "dctcp", "phantom": "1.01:1"}, "--phantom is GAMMA:BYTES, such as 0.95:2500"),
        ({"congestion_control": "dctcp", "phantom": "0.005:1"}, "with a share of 0.01 to 1 and a whole number"),
        ({"congestion_control": "dctcp", "phantom": "0.9:0"}, "not '0.9:0'"),
        ({"congestion_control": "dctcp", "phantom": "0.9"}, "not '0.9'"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, said):
    with pytest.raises(UserMistake, match=said):
        RunSpec(**{"scheme": "ecmp", "traffic": "stride:4"} | asked)


def test_a_phantom_queue_is_a_share_and_a_number_of_bytes():
    spec = RunSpec("ecmp", "stride:4", time="virtual", congestion_control="dctcp", phantom=".95:2500", pacer="behind")
    assert spec.phantom_queue == Phantom(0.95, 2500)
    assert {name: spec.as_json()[name] for name in ("phantom", "pacer")} == {"phantom": ".95:2500", "pacer": "behind"}
    assert not {"phantom", "pacer"} & RunSpec("ecmp", "stride:4").as_json().keys(), "as runs were before"


def test_disturbances_are_in_order_and_inside_the_run():
    spec = RunSpec("ecmp", "stride:4", seconds=5, disturb=("controller:freeze@4.5", "controller:kill@2"))
    assert spec.disturbances == (Disturbance("kill", 2), Disturbance("freeze", 4.5))
    for text in ("controller:kill", "controller:kill@0", "controller:kill@5", "switch:kill@2", "controller:kill@x"):
        with pytest.raises(UserMistake, match="controller:kill@SECONDS"):
            RunSpec("ecmp", "stride:4", seconds=5, disturb=(text,))


def test_without_rounds_the_interval_changes_nothing(tmp_path):
    def options(scheme, interval_s):
        spec = RunSpec(scheme, "stride:4", interval_s=interval_s, time="virtual")
        return Emulation(spec, Observation(), tmp_path, tmp_path, print)._make_options(), spec.reading_s

    for scheme in ("ecmp", "nonblocking"):
        assert options(scheme, 1) == options(scheme, 2) == options(scheme, 5)
    assert options("hedera-gff", 1) != options("hedera-gff", 2)
