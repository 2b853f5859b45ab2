"""Experiments: what is refused, what the engine is told, and which results are the same."""

from dataclasses import replace

import pytest

from studies.hull.experiment import Experiment, scenario, static_parameters
from studies.hull.parameters import SCHEMES, Parameters, Quantity


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scheme": "hul"}, "no scheme 'hul'"),
        ({"workload": "dynamik"}, "no workload 'dynamik'"),
        ({"load": 1.2}, "not 1.2"),
        ({"load": 0.0}, "not 0"),
        ({"seconds": 0}, "above 0 s"),
        ({"flows": 0}, "not 0"),
        ({"seed": -1}, "not -1"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(fields, words):
    with pytest.raises(ValueError, match=words):
        Experiment(**{"scheme": "hull", "workload": "dynamic", "load": 0.2} | fields)


def told(scheme, **parameters):
    experiment = Experiment(scheme, "dynamic", load=0.2, seconds=1, parameters=Parameters(**parameters))
    return scenario(experiment, experiment.traffic())


@pytest.mark.parametrize(
    ("scheme", "variant", "mark_bytes", "paced", "phantom"),
    [
        ("tcp", "reno", 0, False, None),
        ("dctcp-30k", "dctcp", 30_000, False, None),
        ("dctcp-6k-pacer", "dctcp", 6_000, True, None),
        ("hull", "dctcp", 0, True, {"drain_bps": 950e6, "threshold_bytes": 1000}),
    ],
)
def test_each_scheme_switches_on_what_the_report_says(scheme, variant, mark_bytes, paced, phantom):
    built = told(scheme)
    port = next(link for link in built["links"] if link["to"] == "client")
    host = next(link for link in built["links"] if link["from"] == "client")
    assert built["tcp"]["variant"] == variant
    assert port["mark_bytes"] == mark_bytes
    assert port.get("phantom") == phantom
    assert ("pacer" in built) == paced
    assert "phantom" not in host
    assert host.get("mark_bytes", 0) == 0


def test_all_schemes_see_the_same_requests():
    assert len({str(told(scheme)["exchanges"]) for scheme in SCHEMES}) == 1


def test_every_parameter_reaches_the_engine():
    base = {scheme: told(scheme) for scheme in SCHEMES}
    other = {
        "sack": False, "jitter_us": 1.0, "pacer_behind": True, "mark_kb": 12.0, "idle_ms": 0.0, "drain": 0.9,
    }  # fmt: skip
    for name, value in vars(Parameters()).items():
        changed = other.get(name, None if value is None else value * 2)
        assert any(told(scheme, **{name: changed}) != base[scheme] for scheme in SCHEMES), name


def test_static_flows_have_the_authors_two_parameters_unless_told_otherwise():
    assert static_parameters(Parameters()) == replace(Parameters(), segment_bytes=600, drain=0.9)
    asked = static_parameters(Parameters(drain=0.95), {"drain"})
    assert (asked.drain, asked.segment_bytes) == (0.95, 600)


def test_a_key_names_what_a_result_depends_on_and_nothing_else():
    one = Experiment("tcp", "dynamic", load=0.2, seconds=2)
    assert one.key("engine") == Experiment("tcp", "dynamic", load=0.2, seconds=2).key("engine")
    assert one.key("engine") == replace(one, parameters=Parameters(drain=0.5)).key("engine")  # tcp has no drain
    changes = ({"seed": 2}, {"seconds": 3}, {"load": 0.3}, {"scheme": "hull"})
    others = [replace(one, **change) for change in (*changes, {"parameters": Parameters(window_packets=100)})]
    assert len({each.key("engine") for each in [one, *others]}) == 6
    assert one.key("another engine") != one.key("engine")


@pytest.mark.parametrize(
    ("unit", "text", "value"),
    [("us", "100us", 100), ("us", "0.1ms", 100), ("us", "7", 7), ("kb", "1500B", 1.5), ("mbps", "10Gb/s", 10_000)],
)
def test_quantities_are_read_with_their_units(unit, text, value):
    assert Quantity(unit).convert(text, None, None) == pytest.approx(value)
