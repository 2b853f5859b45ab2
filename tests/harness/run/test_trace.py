"""Curves and captures of a real run, against what its other tools counted."""

import csv
import json

import pytest

from tests.captures import read_packets
from tests.commands import hedera

SHORT = ["--scheme", "ecmp", "--traffic", "stride:4", "--seconds", "6", "--time", "virtual"]


@pytest.mark.virtual
def test_queues_windows_and_packets_are_written_down(tmp_path):
    run = tmp_path / "sweep" / "run"
    run.parent.mkdir()
    hedera("run", *SHORT, "--trace", "200", "--pcap", "0_0_2-eth0", "--out", run, check=True, cwd=tmp_path)
    with (run / "queues.csv").open() as opened:
        queues = [(float(row["t"]), row["port"], int(row["bytes"])) for row in csv.DictReader(opened)]
    assert len({t for t, _, _ in queues}) == pytest.approx(6 / 0.2, abs=3)
    switches = [size for _, port, size in queues if not port.endswith("-eth0")]
    assert 20 * 1514 < max(switches) <= 50 * 1500
    with (run / "connections.csv").open() as opened:
        flows = list(csv.DictReader(opened))
    assert {(int(one["src"]), int(one["dst"])) for one in flows} == {(src, (src + 4) % 16) for src in range(16)}
    assert all(1 < float(one["rtt_ms"]) < 500 and int(one["window_segments"]) > 0 for one in flows)
    found = list(read_packets(run / "0_0_2-eth0.pcap"))
    assert [t for t, *_ in found] == sorted(t for t, *_ in found)
    begin = found[0][0]
    payload = sum(length - 66 for t, length, _ in found if 1 <= t - begin < 5)
    flows = json.loads((run / "run.json").read_text())["flows"]
    own = sum(one["window_mbps"] for one in flows if 0 in (one["src"], one["dst"]))
    assert payload * 8e-6 / 4 == pytest.approx(own, rel=0.05)
    assert (run / "trace.svg").stat().st_size > 1000
    hedera("export", run.parent, "--out", tmp_path / "export", check=True)
    assert (tmp_path / "export/queues.csv").read_text().count("\n") == 1 + len(queues)
    assert (tmp_path / "export/connections.csv").read_text().startswith("t,src,dst,src_port,window_segments,rtt_ms,run")
