"""What only a guest has: a kernel's settings to itself, and ports with phantom queues and pacers."""

import csv
import json
import struct
from collections import defaultdict
from itertools import pairwise

import pytest

from tests.captures import read_packets
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


def list_sendings(capture):
    """When each segment of data was sent, by its flow and its sequence number."""
    sendings = defaultdict(list)
    for t, length, frame in read_packets(capture):
        # Ethernet 14 bytes, IPv4 20 without options, TCP's ports and sequence number.
        if frame[12:14] == b"\x08\x00" and frame[23] == 6 and length > 1000:
            sendings[frame[26:38], struct.unpack_from("!I", frame, 38)[0]].append(t)
    return sendings


@pytest.mark.virtual
def test_without_rack_only_a_timeout_finds_a_retransmission_lost(tmp_path):
    """RFC 6675 counts segments above one that was sent once; RFC 8985 sees by the clock that the second is lost, too.
    The captured sender shares its way, and loses much."""
    waits_s = {}
    for name in ("--rack", "--no-rack"):
        where = tmp_path / name
        hedera("run", *SHORT, name, "--pcap", "0_0_2-eth0", "--time", "virtual", "--out", where, check=True)
        sendings = list_sendings(where / "0_0_2-eth0.pcap")
        assert sum(len(times) > 1 for times in sendings.values()) > 10, "nothing was lost"
        waits_s[name] = [later - earlier for times in sendings.values() for earlier, later in pairwise(times[1:])]
    assert min(waits_s["--rack"]) < 0.1
    assert min(waits_s["--no-rack"], default=0.2) >= 0.2, "Linux's shortest timeout"


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
