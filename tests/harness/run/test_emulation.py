"""What only a guest has: a kernel's settings to itself, and ports with phantom queues and pacers."""

import csv
import json

import pytest

from tests.commands import hedera

SHORT = ("--scheme", "ecmp", "--traffic", "published:stride4", "--seconds", "3", "--bw", "100", "--queue", "8")


@pytest.mark.virtual
def test_cubic_without_hystart_is_asked_for(tmp_path):
    """It alone moves what a seed gives: the kernel has heard of it, and the next guest has it again."""
    payloads = []
    for number, more in enumerate(((), ("--no-hystart",), ())):
        done = hedera("run", *SHORT, *more, "--time", "virtual", "--json", "--out", tmp_path / f"{number}", check=True)
        payloads.append(json.loads(done.stdout)["payload_mbps"])
    assert payloads[0] == payloads[2] != payloads[1]


DCTCP = ("--scheme", "ecmp", "--traffic", "stride:4", "--seconds", "4", "--congestion-control", "dctcp")


@pytest.mark.virtual
def test_a_phantom_queue_that_never_marks_changes_nothing_byte_for_byte(tmp_path):
    """Whatever it drains at. (Beside none at all: `test_eports`. A run's clock moves by what ports are told.)"""
    never = {"slow": "0.5:999999998", "full": "1:999999999"}
    for name, phantom in never.items():
        hedera("run", *DCTCP, "--phantom", phantom, "--time", "virtual", "--out", tmp_path / name, check=True)
    files = {path.name for path in (tmp_path / "slow").iterdir()} - {"run.json", "seen.json", "controller.jsonl"}
    assert len(files) > 16
    for file in files:
        assert (tmp_path / "full" / file).read_bytes() == (tmp_path / "slow" / file).read_bytes(), file
    ours, theirs = (json.loads((tmp_path / name / "run.json").read_text()) for name in never)
    assert ours["costs"] == theirs["costs"]
    assert ours["costs"]["marked_by_phantom_queues"] == 0
    assert ours["spec"] == theirs["spec"] | {"phantom": never["slow"]}


HULLS = ("marked_by_phantom_queues", "paced_packets", "not_paced_packets")


@pytest.mark.virtual
def test_phantom_queues_mark_pacers_hold_and_queues_are_short(tmp_path):
    waits = {}
    for name, more in (("dctcp", ()), ("hull", ("--phantom", "0.95:2500", "--pacer", "front"))):
        where = tmp_path / name
        hedera("run", *DCTCP, *more, "--trace", "50", "--time", "virtual", "--out", where, check=True)
        with (where / "queues.csv").open() as opened:
            waits[name] = sum(int(row["bytes"]) for row in csv.DictReader(opened) if "eth0" not in row["port"])
    costs = json.loads((where / "run.json").read_text())["costs"]
    assert all(costs[one] > 1000 for one in HULLS)
    assert waits["hull"] < waits["dctcp"] / 3
