"""What acknowledgements on a flow's links take of it, of runs that are made up."""

import math

import pytest

from record.run import read
from studies.acknowledgements import find_lone_flows, make_queue_rows, make_share_rows
from tests.plots.sweeps import run_document, store


def flow(src, dst, core, back, mbps=9.5):
    paths = {"paths": [{"t": 0.1, "core": core}], "ack_paths": [{"t": 0.1, "core": back}]}
    return {"src": src, "dst": dst, "mbps": mbps, "per_second_mbps": [1.0] * 20 + [mbps] * 9 + [0.0], **paths}


FLOWS = [
    flow(0, 4, core=0, back=2),  # to pod 1, its acknowledgements from there to pod 0
    flow(5, 1, core=2, back=0, mbps=9.0),  # from pod 1 to pod 0, beside the first one's acknowledgements
    flow(8, 12, core=1, back=1),
    flow(9, 13, core=1, back=1),  # with the third on one link
    flow(2, 3, core=0, back=0),  # within a pod
]


def test_streams_are_counted_on_links_of_flows_that_share_none(tmp_path):
    links = {"window_s": [7.0, 20.0], "mbps": {"0_0_1-eth1": 9.4, "4_1_1-eth2": 9.7, "0_2_1-eth1": 9.6, "0_0_2": 9.9}}
    written = run_document(scheme="ecmp", flows=FLOWS, full_links=links, queue_drops={"4_1_1-eth2": 3, "1_0_2-eth0": 1})
    first, second = find_lone_flows(read(store(tmp_path, written)))
    assert first[:4] == (1, 9.5, 9.7, True)  # 0_0_2 is a host's link; so is 1_0_2-eth0's, where packets were dropped
    assert second[:2] == (1, 9.0)
    assert math.isnan(second.fullest_mbps)
    assert not second.is_lossy


def test_rows_are_means_over_seeds_of_what_the_control_s_flows_have(tmp_path):
    for trial in (1, 2, 3):
        store(tmp_path, run_document(scheme="nonblocking", trial=trial, flows=[flow(0, 4, 0, 0, mbps=10.0)]))
        store(tmp_path, run_document(scheme="ecmp", trial=trial, flows=FLOWS))
    store(tmp_path, run_document(scheme="ecmp", trial=4, flows=FLOWS))  # without a control
    (row,) = make_share_rows(tmp_path)
    assert (row["scheme"], row["ack_paths"], row["streams"], row["flows"], row["seeds"]) == ("ecmp", "hashed", 1, 6, 3)
    assert [float(row[name]) for name in ("mean", "low", "high")] == pytest.approx([92.5, 92.5, 92.5])


def test_queues_that_were_full_late_in_a_traced_run_at_a_link_of_the_flow(tmp_path):
    room = 50 * 1500
    for trial, (when, waited) in enumerate(((19.0, room), (25.0, room - 1500), (25.0, room - 1499)), start=1):
        path = store(tmp_path, run_document(scheme="ecmp", trial=trial, flows=FLOWS))
        (path.parent / "queues.csv").write_text(f"t,port,bytes\n{when},4_1_1-eth2,{waited}\n25.0,0_0_2,{room}\n")
    assert [*make_queue_rows(tmp_path)] == [{"scheme": "ecmp", "streams": 1, "flows": 6, "full": "16.7"}]
