"""Senders and sinks as the processes they are, on loopback: no root, no network."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.controllers.fake_switch import wait_for
from transfers import records, sink

FOLDER = Path(records.__file__).parent
SINK = "127.0.0.1"
SENDER = "127.0.0.2"


class Bench:
    """A sink, and a sender that is told what to send."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind((SINK, 0))
            self.port = probe.getsockname()[1]
        self.files = {name: folder / f"{name}.jsonl" for name in ("sender", "sink")}
        self.sink = self.start("sink", SINK, 1000)
        wait_for(self.listens)
        self.sender = self.start("sender", SENDER, 0.5)
        wait_for(self.sender_waits)
        self.begin = time.monotonic() + 0.1

    def start(self, name, address, last):
        with self.files[name].open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", FOLDER / f"{name}.py", address, str(self.port), str(last)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex((SINK, self.port)) == 0

    def sender_waits(self):
        """For what it is to send: a busy machine starts it later than flows are due."""
        stat = Path(f"/proc/{self.sender.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "S"

    def tell(self, *lines, seconds=20.0):
        self.sender.stdin.write(f"{self.begin} {self.begin + seconds}\n".encode())
        self.sender.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.sender.stdin.flush()

    def finish(self):
        self.sender.stdin.close()
        assert self.sender.wait(120) == 0
        return self.read()

    def read(self):
        if self.sink.poll() is None:
            self.sink.terminate()
        assert self.sink.wait(120) == 0
        sent = {one.number: one for one in records.sent_by(self.files["sender"])}
        arrived = [one for one in records.arrived_at(self.files["sink"]) if one.source == SENDER]
        return sent, arrived


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    for process in (made.sender, made.sink):
        process.kill()
        process.wait()
        process.stdin.close()


def test_flows_start_when_they_are_due_and_all_of_them_arrives(bench):
    sizes = [1, 8, 9, 5000, 100_000, 3_000_000]
    bench.tell(*(f"{n} {0.05 * n} {SINK} {30000 + n} {size} -" for n, size in enumerate(sizes)))
    sent, arrived = bench.finish()
    assert [one.how for one in sent.values()] == ["done"] * len(sizes)
    assert [one.bytes for one in arrived] == [max(8, size) for size in sizes]
    for n, there in enumerate(arrived):
        here = sent[n]
        assert here.asked == pytest.approx(bench.begin + 0.05 * n)
        assert here.asked <= here.start <= here.connected <= here.end
        assert there.accepted <= there.first <= there.last <= here.end
        assert sum(there.bins) == there.bytes
        assert (here.rtt_us > 0, there.how, there.port) == (True, "done", 30000 + n)


def test_turns_follow_each_other_and_a_port_can_be_used_again_at_once(bench):
    bench.tell(
        f"0 0 {SINK} 30000 200000 -",
        f"1 - {SINK} 30000 200000 0",
        f"2 - {SINK} 30000 100 1",
        f"3 - {SINK} 30001 100 0",
    )
    sent, arrived = bench.finish()
    assert {one.how for one in sent.values()} == {"done"}
    assert sent[1].start >= sent[0].end
    assert sent[2].start >= sent[1].end
    flows = [records.Connection(n, SENDER, SINK, 30001 if n == 3 else 30000) for n in range(4)]
    paired = records.paired(flows, sent, {SINK: arrived})
    assert [paired[n].bytes for n in range(4)] == [200_000, 200_000, 100, 100]
    assert paired[1].accepted > paired[0].last


def test_the_end_stops_lasting_flows_and_cuts_off_what_is_under_way(bench):
    bench.sink.send_signal(signal.SIGSTOP)
    bench.tell(f"0 0 {SINK} 30000 100000000 -", f"1 9 {SINK} 30001 100 -", seconds=0.4)
    wait_for(lambda: time.monotonic() > bench.begin + 0.6)
    bench.sink.send_signal(signal.SIGCONT)
    sent, _ = bench.finish()
    assert sent[0].how == "cut off"
    assert sent[0].end - bench.begin < 2
    assert 1 not in sent, "it was due after the end"


def test_a_lasting_flow_is_done_when_the_end_has_come(bench):
    bench.tell(f"0 0 {SINK} 30000 - -", seconds=0.5)
    sent, (arrived,) = bench.finish()
    assert (sent[0].how, arrived.how) == ("done", "done")
    assert 0.4 < arrived.last - bench.begin < 1.5, "however late a busy machine let it begin"
    assert arrived.bytes > 100_000


def test_a_sink_that_refuses_and_one_that_dies_are_named(bench):
    bench.tell("0 0 127.0.0.9 30000 100 -", f"1 0 {SINK} 30001 - -")
    wait_for(lambda: bench.files["sender"].read_bytes())
    bench.sink.kill()
    bench.sender.stdin.close()
    assert bench.sender.wait(120) == 0
    hows = {one.number: one.how for one in records.sent_by(bench.files["sender"])}
    assert hows[0] == "Connection refused"
    assert hows[1] in ("closed early", "Connection reset by peer", "Broken pipe")


def test_what_a_killed_process_wrote_is_read_as_far_as_it_goes(tmp_path):
    good = {
        "number": 3,
        "asked": 1.0,
        "start": 1.0,
        "connected": None,
        "end": 2.0,
        "how": "done",
        "retransmissions": 0,
        "rtt_us": 5,
    }
    output = tmp_path / "sender.jsonl"
    output.write_text(json.dumps(good) + '\nTraceback\n{"number": 4}\n' + json.dumps(good)[:40])
    assert [one.number for one in records.sent_by(output)] == [3]
    assert records.arrived_at(tmp_path / "none.jsonl") == []


def test_a_sink_is_not_reached_before_it_hears_that_it_is_to_end(tmp_path):
    """Between the two a SIGTERM would kill it, with its records."""
    was, fd = signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)
    try:
        with (
            sink.bound(SINK, 0) as listener,
            (tmp_path / "records").open("wb") as output,
            socket.socket() as probe,
        ):
            at = listener.getsockname()
            assert probe.connect_ex(at) != 0
            waiting = sink.Sink(listener, 1000, output.fileno())
            assert signal.getsignal(signal.SIGTERM) is not was
            assert probe.connect_ex(at) != 0
            os.kill(os.getpid(), signal.SIGTERM)
            waiting.run()
            assert probe.connect_ex(at) == 0
    finally:
        signal.set_wakeup_fd(fd)
        signal.signal(signal.SIGTERM, was)


def test_an_interrupted_sink_writes_down_what_it_has(bench):
    with socket.socket() as half:
        half.bind((SENDER, 0))
        half.connect((SINK, bench.port))
        half.sendall((1000).to_bytes(8, "big") + bytes(92))
        time.sleep(0.2)
        _, (arrived,) = bench.read()
    assert (arrived.how, arrived.bytes) == ("cut off", 100)
    assert os.path.getsize(bench.files["sink"]) > 0
