"""What studies need of a machine is a row of `hedera doctor`, whether it is there or not."""

from harness import doctor
from harness.cli import cli
from studies import requirements
from studies.hull import packets


def test_the_command_has_the_row_of_ns_3():
    assert cli.get_command(None, "doctor") is requirements.doctor
    assert doctor._rows_of_others == [requirements.ns_3]


def test_ns_3_is_optional_and_says_how_to_have_it(monkeypatch):
    def missing():
        raise packets.NotInstalled("ns-3 is missing: apt-get install it")

    monkeypatch.setattr(packets, "find_ns3_version", missing)
    row = requirements.ns_3()
    assert (row.found, row.ok, row.fix) == ("not ready", None, "ns-3 is missing: apt-get install it")
    monkeypatch.setattr(packets, "find_ns3_version", lambda: "3.45")
    assert (requirements.ns_3().found, requirements.ns_3().ok) == ("3.45", True)
