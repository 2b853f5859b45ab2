"""What a run under way has written so far."""

import json

import pytest

from harness.run.spec import RunSpec
from harness.sweep.tail import Tail, begun
from topos.fattree import FatTree
from topos.nonblocking import NonBlocking

SPEC = RunSpec("ecmp", "stride:4", seconds=10)
BEGIN = 1000.0


def lines(second, ports, out_mbps=8.0, in_mbps=4.0):
    """A sample of bwm-ng 0.6.3: bytes per second out, then in."""
    rest = ";0" * 16
    rows = [f"{BEGIN + second:.3f};{port};{out_mbps / 8e-6};{in_mbps / 8e-6};0{rest}" for port in [*ports, "total"]]
    return "".join(row + "\n" for row in rows)


def ports_of(topo):
    return [f"{link.upper}-eth{link.upper_port}" for link in topo.links()]


def test_samples_become_rates_of_hosts_and_links_as_they_come(tmp_path):
    topo = FatTree(4)
    ports = ports_of(topo)
    now = begun(SPEC, "sending")
    tail = Tail(tmp_path, now, BEGIN)
    assert tail.onto(now) == now, "nothing is written yet"
    first, second = tmp_path / "bwm-ng-0.csv", tmp_path / "bwm-ng-1.csv"
    first.write_text(lines(0.1, ports[0::2], 99.0))
    second.write_text(lines(0.1, ports[1::2], 99.0))
    assert tail.onto(now).t == (), "no time has passed before the first sample"
    with first.open("a") as file:
        file.write(lines(1.1, ports[0::2]))
    assert tail.onto(now).t == (), "half of the hosts have been sampled"
    with second.open("a") as file:
        text = lines(1.1, ports[1::2])
        file.write(text[:-30])
        file.flush()
        tail.onto(now)
        file.write(text[-30:])
    seen = tail.onto(now)
    assert seen.t == (1.0,)
    assert seen.total_mbps == pytest.approx((128.0,))
    assert set(seen.hosts) == set(topo.hosts)
    assert seen.links[topo.hosts[0]] == pytest.approx(4.0), "what a host sends enters its switch"
    assert seen.links[ports[0]] == pytest.approx(8.0)


def test_rounds_of_the_controller_and_nothing_that_is_none(tmp_path):
    now = begun(SPEC, "sending")
    tail = Tail(tmp_path, now, BEGIN)
    whole = {
        "t": BEGIN + 2.0,
        "event": "round",
        "round": 1,
        "flows": 16,
        "large": 12,
        "placed": 5,
        "changed": 3,
        "polled_s": 0.1,
        "compute_s": 0.1,
        "install_s": 0.1,
    }
    log = [json.dumps(whole), json.dumps(whole | {"t": BEGIN - 1}), '{"t": 1, "event": "round"}', "{half"]
    (tmp_path / "controller.jsonl").write_text("\n".join(log) + "\n")
    (tmp_path / "bwm-ng-0.csv").write_bytes(b"nonsense\n;;;\n1;x;nan;inf;1\n\xff;\xff;1;1;1\n")
    assert tail.onto(now).rounds == ((2.0, 12, 3),)
    assert tail.onto(now).links == {}


def test_the_control_is_one_switch(tmp_path):
    ports = ports_of(NonBlocking(16))
    now = begun(RunSpec("nonblocking", "stride:4", flows_per_host=2), "sending")
    assert now.pattern == "stride:4 x2"
    tail = Tail(tmp_path, now, BEGIN)
    (tmp_path / "bwm-ng-0.csv").write_text(lines(0, ports) + lines(1, ports))
    assert tail.onto(now).total_mbps == pytest.approx((128.0,))
