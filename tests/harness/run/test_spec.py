"""What `auto` comes to, by the nature of the traffic."""

import dataclasses

import pytest

from harness.errors import UserMistake
from harness.run.emulation import Emulation
from harness.run.observation import Observation
from harness.run.spec import MEASURED_DELAY_MS, Disturbance, RunSpec, parsed_disturbances
from record.parts import Settings

LASTING = {"new_flows": "controller", "large_flows": "measured-or-estimated"}
COMES_AND_GOES = {"new_flows": "switch", "large_flows": "measured"}


def by_traffic(spec):
    settled = spec.for_its_traffic()
    assert settled.for_its_traffic() == settled
    return {name: getattr(settled, name) for name in LASTING}


@pytest.mark.parametrize(
    ("traffic", "settled"),
    [
        ("stride:4", LASTING),
        ("published:randx2", LASTING),
        ("shuffle:20000", COMES_AND_GOES),
        ("poisson:web-search,0.3", COMES_AND_GOES),
        ("stride:4 + poisson:fixed:10000,0.05", COMES_AND_GOES),
    ],
)
def test_traffic_decides_what_is_left_to_it(traffic, settled):
    assert by_traffic(RunSpec("hedera-gff", traffic, seconds=5, scale_sizes=False)) == settled


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
    ("asked", "cause"),
    [
        ({"time": "real", "controller_delay_ms": 8.0}, "virtual time"),
        ({"time": "virtual", "controller_delay_ms": -1.0}, "--controller-delay"),
        ({"topology": "leaf-spine:4,2,4", "new_flows": "switch"}, "--new-flows"),
        ({"time": "real", "interval_s": 0.5}, "--interval"),
        ({"oversubscribe": 101.0}, "rates of links"),
        ({"scheme": "spray", "time": "real"}, "--time virtual"),
        ({"scheme": "flowlet:9", "topology": "leaf-spine:4,2,4"}, "--topology"),
        ({"scheme": "spray", "fail": ("link:0_2_1-4_1_1@1",)}, "--fail"),
        ({"large_flows": "all"}, "'all'"),
        ({"traffic": "ring:4,1000 + stride:1"}, "collective"),
        ({"scheme": "ecmp-x4"}, "collectives"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, cause):
    with pytest.raises(UserMistake, match=cause):
        RunSpec(**{"scheme": "ecmp", "traffic": "stride:4"} | asked).workload()


def test_disturbances_are_in_order_and_inside_the_run():
    found = parsed_disturbances(["controller:freeze@4.5", "controller:kill@2"], 5)
    assert found == (Disturbance("kill", 2), Disturbance("freeze", 4.5))
    for text in ("", "controller:kill", "controller:kill@0", "controller:kill@5", "switch:kill@2", "controller:kill@x"):
        with pytest.raises(ValueError, match="controller:kill@SECONDS"):
            parsed_disturbances([text], 5)


def test_results_have_a_place_for_it():
    fields = {each.name: each for each in dataclasses.fields(RunSpec)}
    assert set(Settings.__struct_fields__) - {"datapath"} == {*fields, "sink"} - {"scheme", "traffic", "trial", "seed"}


def test_without_rounds_the_interval_changes_nothing(tmp_path):
    def options(scheme, interval_s):
        spec = RunSpec(scheme, "stride:4", interval_s=interval_s, time="virtual")
        return Emulation(spec, Observation(), tmp_path, tmp_path, print)._options(), spec.reading_s

    for scheme in ("ecmp", "nonblocking"):
        assert options(scheme, 1) == options(scheme, 2) == options(scheme, 5)
    assert options("hedera-gff", 1) != options("hedera-gff", 2)
