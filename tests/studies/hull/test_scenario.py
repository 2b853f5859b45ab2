"""Scenarios: what is refused, what the engine is told, which results are the same; and the traffic drawn for them."""

from dataclasses import replace

import numpy as np
import pytest

from studies.hull.scenario import (
    FAN_OUTS,
    LARGE,
    QUERY,
    SCHEMES,
    SMALL,
    Experiment,
    Parameters,
    Quantity,
    draw_dynamic,
    draw_fan_out,
    make_scenario,
)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scheme": "hul"}, "'hul'"),
        ({"workload": "dynamik"}, "'dynamik'"),
        ({"load": 1.2}, "not 1.2"),
        ({"load": 0.0}, "load"),
        ({"seconds": 0}, "seconds"),
        ({"flows": 0}, "flows"),
        ({"seed": -1}, "not -1"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(fields, words):
    with pytest.raises(ValueError, match=words):
        Experiment(**{"scheme": "hull", "workload": "dynamic", "load": 0.2} | fields)


def told(scheme, **parameters):
    experiment = Experiment(scheme, "dynamic", load=0.2, seconds=1, parameters=Parameters(**parameters))
    return make_scenario(experiment, experiment.draw_traffic())


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
        "rack": False, "pacers": False, "tail_loss_probes": False, "large_segments": True, "whole_cuts": True,
        "prr": True, "growth_anew": True,
    }  # fmt: skip
    for name, value in vars(Parameters()).items():
        changed = other.get(name, None if value is None else value * 2)
        assert any(told(scheme, **{name: changed}) != base[scheme] for scheme in SCHEMES), name


def test_a_key_names_what_a_result_depends_on_and_nothing_else():
    one = Experiment("tcp", "dynamic", load=0.2, seconds=2)
    assert one.make_key("engine") == Experiment("tcp", "dynamic", load=0.2, seconds=2).make_key("engine")
    assert one.make_key("engine") == replace(one, parameters=Parameters(drain=0.5)).make_key(
        "engine"
    )  # tcp has no drain
    changes = ({"seed": 2}, {"seconds": 3}, {"load": 0.3}, {"scheme": "hull"})
    others = [replace(one, **change) for change in (*changes, {"parameters": Parameters(window_packets=100)})]
    assert len({each.make_key("engine") for each in [one, *others]}) == 6
    assert one.make_key("another engine") != one.make_key("engine")


@pytest.mark.parametrize(
    ("unit", "text", "value"),
    [("us", "100us", 100), ("us", "0.1ms", 100), ("us", "7", 7), ("kb", "1500B", 1.5), ("mbps", "10Gb/s", 10_000)],
)
def test_quantities_are_read_with_their_units(unit, text, value):
    assert Quantity(unit).convert(text, None, None) == pytest.approx(value)


@pytest.mark.parametrize("load", [0.2, 0.6])
def test_dynamic_traffic_has_the_load_it_was_asked_for(load):
    traffic = draw_dynamic(load, 4000, seed=1)
    large = traffic.reply_bytes[traffic.kind == LARGE]
    assert large.sum() * 8 / 4000 == pytest.approx(load * 1e9, rel=0.05)
    small = traffic.reply_bytes[traffic.kind == SMALL]
    assert small.size / large.size == pytest.approx(5, rel=0.05)
    assert set(small) == {900}
    assert set(large) == {10_000_000}


def test_gaps_are_exponential_and_servers_take_turns():
    traffic = draw_dynamic(0.4, 2000, seed=2)
    large = traffic.kind == LARGE
    gaps = np.diff(traffic.start_ns[large]) / 1e9
    assert gaps.mean() == pytest.approx(1 / 5, rel=0.05)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    servers = [traffic.connections[n].server for n in traffic.connection[large][:18]]
    assert servers == [*range(1, 10)] * 2


def test_search_is_as_the_report_describes_it():
    traffic = draw_fan_out("search", 0.2, 100, seed=1)
    query = traffic.kind == QUERY
    assert query.sum() / 10 / 100 == pytest.approx(0.30 / 2.53e-3, rel=0.03)  # 30 % of a server's time
    assert traffic.service_ns[query].mean() == pytest.approx(2.53e6, rel=0.02)  # 180 * 0.7 * 20,000 + 10,000 ns
    assert traffic.service_ns[query].min() >= 10_000
    sent = traffic.reply_bytes[query].sum() * 8 / 100 / 1e6
    assert sent == pytest.approx(26.5, rel=0.05)  # Mb/s, section III.B
    first = traffic.query == 0
    assert first.sum() == 10
    assert np.ptp(traffic.start_ns[first]) == 0
    assert (traffic.kind != SMALL).all()
    opening = traffic.start_ns < traffic.start_ns[query].min()
    assert set(traffic.connection[opening]) == set(range(10, 20))  # one large file on each, before all else
    assert traffic.start_ns[query].min() >= 2e9


def test_low_latency_search_is_as_the_report_describes_it():
    traffic = draw_fan_out("low-latency", 0.0, 20, seed=1)
    assert set(traffic.service_ns) == {100_000}
    assert traffic.reply_bytes.sum() * 8 / 20 / 1e6 == pytest.approx(4, rel=0.05)  # Mb/s
    assert FAN_OUTS["low-latency"].queries_per_s * 100 == pytest.approx(50_000)


def test_starts_are_sorted_and_a_seed_fixes_them():
    one, same, other = (draw_fan_out("search", 0.4, 5, seed) for seed in (1, 1, 2))
    assert (np.diff(one.start_ns) >= 0).all()
    assert (one.start_ns == same.start_ns).all()
    assert (one.service_ns == same.service_ns).all()
    assert one.start_ns.shape != other.start_ns.shape or (one.start_ns != other.start_ns).any()
