"""Hosts' programs as the processes they are, on loopback: no root, no network."""

import json
import os
import socket
import subprocess
import sys
import time

import msgspec
import pytest

from harness.hosts import peer
from harness.run.traffic import Sent, read_records
from tests.commands import PATIENCE_S
from tests.controllers.fake_switch import wait_for

NETWORK = f"127.{os.getpid() >> 8 & 127}.{os.getpid() & 255}"  # this process's own: others test beside it
HERE, THERE, NOBODY = f"{NETWORK}.2", f"{NETWORK}.3", f"{NETWORK}.9"


def flow(number, after_s=0, port=30_000, size=100, after=(), to=THERE):
    return [number, after_s, to, port, size, list(after), None]


class Bench:
    """Two programs: what they are told, and what both wrote."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind((HERE, 0))
            self.port = probe.getsockname()[1]
        self.files = {name: folder / f"{name}.jsonl" for name in (HERE, THERE)}
        self.programs = {name: self.start(name) for name in self.files}
        self.here, self.there = self.programs.values()

    def start(self, name):
        words = [peer.__file__, name, str(self.port), "1000", "0.5"]
        with self.files[name].open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", *words], stdin=subprocess.PIPE, stdout=output, stderr=output
            )

    def begins(self, flows, answers=(), standing=(), seconds=PATIENCE_S):
        """``here`` sends flows, ``there`` answers."""
        ends = ((self.here, standing, 0, flows, answers), (self.there, [], len(standing), answers, flows))
        for program, connections, accepts, goes, comes in ends:
            expects = sum(each[2] is not None or each[6] is not None for each in comes)
            part = {"connections": connections, "accepts": accepts, "flows": goes, "expects": expects}
            self.tell(program, part)
        for file in self.files.values():
            wait_for(lambda file=file: file.read_bytes() == b"ready\n")
        self.begin = time.monotonic() + 0.1
        for program in self.programs.values():
            self.tell(program, [self.begin, self.begin + seconds])

    def tell(self, program, line):
        program.stdin.write(f"{json.dumps(line)}\n".encode())
        program.stdin.flush()

    def sends(self, *flows, **settings):
        """What both wrote of these flows of ``here``'s."""
        self.begins(flows, **settings)
        return self.read()

    def read(self):
        assert [program.wait(PATIENCE_S) for program in (self.here, self.there)] == [0, 0]
        return read_records(self.files.values())


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    for process in made.programs.values():
        process.kill()
        process.wait()
        process.stdin.close()


def test_flows_start_when_they_are_due_and_all_of_each_arrives(bench):
    sizes = [1, 16, 17, 5000, 100_000, 3_000_000]
    sent, arrived = bench.sends(*(flow(n, 0.05 * n, 30_000 + n, size) for n, size in enumerate(sizes)))
    assert [(sent[n].outcome, arrived[n].outcome) for n in range(6)] == [("done", "done")] * 6
    for n, size in enumerate(sizes):
        here, there = sent[n], arrived[n]
        assert there.bytes == sum(there.bins) == max(16, size), "it says its number and size"
        assert here.scheduled == pytest.approx(bench.begin + 0.05 * n)
        assert here.scheduled <= here.start <= here.connected <= here.end
        assert there.accepted <= there.first <= there.last <= here.end
        assert here.rtt_us > 0


def test_turns_follow_each_other_and_a_port_can_be_used_again_at_once(bench):
    turns = (flow(0, size=200_000), flow(1, size=200_000, after=[0]), flow(2, 0.2, after=[1]), flow(3, port=9000))
    sent, arrived = bench.sends(*turns)
    assert {one.outcome for one in sent.values()} == {"done"}
    assert sent[1].start >= sent[0].end
    assert sent[2].start >= sent[1].end + 0.2
    assert [arrived[n].bytes for n in range(4)] == [200_000, 200_000, 100, 100]


def test_a_standing_connection_carries_one_after_the_other_and_computing_takes_its_time(bench):
    steps = ([0, 0, None, 0, 50_000, [], 0], [1, 0.3, None, 0, 0, [0], None], [2, 0, None, 0, 5, [1], 0])
    sent, arrived = bench.sends(*steps, standing=[(THERE, 31_000)])
    assert [sent[n].outcome for n in range(3)] == ["done"] * 3
    assert sorted(arrived) == [0, 2]
    assert sent[0].connected is None, "it stood already"
    assert sent[1].start >= sent[0].end + 0.3
    assert arrived[2].first >= sent[1].end


def test_what_has_arrived_frees_what_waits_for_it(bench):
    bench.begins([flow(0, 0.2)], [flow(1, after=[0], to=HERE)])
    sent, arrived = bench.read()
    assert sent[1].start >= arrived[0].last
    assert arrived[1].outcome == "done"


def test_the_end_stops_lasting_flows_and_cuts_off_what_is_under_way(bench):
    large, late, lasts = flow(0, size=10**12), flow(1, 9, 30_001), flow(2, 0.1, 30_002, None)
    sent, arrived = bench.sends(large, late, lasts, seconds=0.6)
    assert (sent[0].outcome, arrived[0].outcome) == ("cut off", "cut off")
    assert 0 < arrived[0].bytes < 10**12
    assert 1 not in sent, "it was due after the end"
    assert (sent[2].outcome, arrived[2].outcome) == ("done", "done")
    assert arrived[2].bytes > 1000
    assert max(sent[0].end, arrived[2].last) - bench.begin < PATIENCE_S


def test_a_host_that_refuses_and_one_that_dies_are_named(bench):
    bench.begins([flow(0, to=NOBODY), flow(1, port=30_001, size=None)])
    wait_for(lambda: b'"sent"' in bench.files[HERE].read_bytes())
    bench.there.kill()
    assert bench.here.wait(PATIENCE_S) == 0
    sent, _ = read_records([bench.files[HERE]])
    assert sent[0].outcome == "Connection refused"
    assert sent[1].outcome in ("closed early", "Connection reset by peer", "Broken pipe")


def test_what_a_killed_process_wrote_is_read_as_far_as_it_goes(tmp_path):
    good = Sent(3, 1.0, 1.0, None, 2.0, "done", 0, 5)
    line = json.dumps({"sent": msgspec.to_builtins(good)})
    output = tmp_path / "peer.jsonl"
    output.write_text(f'ready\n{line}\nTraceback\n{{"sent": {{"number": 4}}}}\n{line[:40]}')
    assert read_records([output, tmp_path / "none.jsonl"]) == ({3: good}, {})
