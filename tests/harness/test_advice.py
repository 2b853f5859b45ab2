"""What the doctor says at the end: what the machine carries, and what to type."""

import pytest

from harness import advice, doctor
from harness.doctor import NEIGHBOURS, Finding, busy
from harness.network import machine
from harness.sweep import calibration


@pytest.mark.parametrize(
    ("time", "missing", "beside", "told"),
    [
        ("real", "", "", "./test.sh 1 10, all of Figure 9 in about 30 min"),
        ("real", "", "other load", "./test.sh 1 10 --time virtual, or wait: beside other load"),
        ("virtual", "", "other load", "longer beside other load"),
        (
            "virtual",
            "gcc: apt-get install gcc",
            "",
            "Next: gcc: apt-get install gcc; then hedera doctor again",
        ),
    ],
)
def test_the_next_command(time, missing, beside, told):
    assert told in advice.next_command(time, missing, beside)


def test_virtual_time_is_told_by_processors_and_hosts(monkeypatch):
    monkeypatch.setattr(machine, "processors", lambda: 1)
    told = advice.carried("virtual")
    assert "one guest at once, and links of any rate" in told
    assert "16 hosts (k = 4)" in told
    assert "128 (k = 8)" in told


def test_real_time_is_told_as_it_was_measured(monkeypatch):
    monkeypatch.setattr(machine, "kernel_datapath", lambda: False)
    assert "--time virtual" in advice.carried("real")
    monkeypatch.setattr(machine, "kernel_datapath", lambda: True)
    monkeypatch.setattr(calibration, "remembered", lambda spec: None)
    assert "--calibrate" in advice.carried("real")
    monkeypatch.setattr(calibration, "remembered", lambda spec: 7.0 if spec.mtu == 1500 else None)
    told = advice.carried("real")
    assert "Measured here at k = 4: links of 7 Mb/s in packets of 1500 bytes." in told


@pytest.mark.parametrize(
    ("load", "network", "words"),
    [(0.9, "", ""), (1.1, "", "other load"), (0.0, "1 ovs-vswitchd (process 1)", "networks of others")],
)
def test_who_is_beside(monkeypatch, load, network, words):
    monkeypatch.setattr(machine, "processors", lambda: 2)
    monkeypatch.setattr(doctor.neighbours, "load", lambda: load)
    monkeypatch.setattr(doctor.neighbours, "networks", lambda found: network)
    monkeypatch.setattr(doctor.neighbours, "runs", lambda found: [])
    found = [Finding("gcc", "missing", "yes", False), *doctor._neighbours(virtual=False)]
    assert [each.item for each in found[1:]] == list(NEIGHBOURS)
    assert busy(found) == words
    assert all(each.ok is not False for each in found[1:]), "that is no reason to refuse anything"
