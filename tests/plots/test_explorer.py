import numpy as np
import pytest

from plots.explorer import MAX_FLOWS, average_rates, collect_explorer_data, describe_paths, split_into_stages
from plots.stored_sweep import load_sweep
from record.run import FlowRecord, read
from tests.plots.sweeps import kept_sweep, rounds, run_document, store
from topos.fattree import FatTree
from topos.wire import compute_payload_share


def test_a_run_is_cut_at_its_rounds(tmp_path):
    flows = [
        {
            "src": 0,
            "dst": 4,
            "mbps": 5,
            "start": 0.0,
            "per_second_mbps": [2, 2, 4, 4, 6, 6],
            "paths": [{"t": 0.1, "core": 0}, {"t": 2.0, "core": 3}],
        },
        {"src": 1, "dst": 5, "mbps": 5, "start": 3.0, "per_second_mbps": [8, 8, 8], "paths": [{"t": 3.1, "core": 1}]},
    ]
    document = run_document(seconds=6, flows=flows, rounds=rounds((2.0, 1), (4.0, 0)))
    cut = split_into_stages(read(store(tmp_path, document)))
    assert [(stage.begin, stage.end) for stage in cut] == [(0, 2), (2, 4), (4, 6)]
    assert [stage.cores for stage in cut] == [(0, None), (3, 1), (3, 1)]
    assert [stage.mbps for stage in cut] == [(2, 0), (4, 4), (6, 8)]


@pytest.mark.parametrize(
    ("scheme", "settings", "words"),
    [
        ("ecmp", {}, "first paths by salted:5-tuple; flows used 1 of 4 cores"),
        ("hedera-sa@crc32:addresses", {}, "first paths by crc32:addresses; flows used 1 of 4 cores at first, later 2"),
        ("spanning-tree", {}, "flows used 1 of 4 cores"),
        (
            "ecmp-polarized",
            {"new_flows": "switch"},
            "first paths by the switches, which hash the 5-tuple as Open vSwitch does; flows used 1 of 4 cores",
        ),
        ("nonblocking", {}, ""),
        ("mine.py:Mine", {}, "flows used 1 of 4 cores"),
        ("ecmp", {"topology": "leaf-spine:4,2,4"}, "first paths by salted:5-tuple"),
    ],
)
def test_a_run_tells_its_hash_and_how_many_cores_it_used(tmp_path, scheme, settings, words):
    later = [{"t": 2.0, "core": 2}] if scheme.startswith("hedera") else []
    flows = [
        {"src": 0, "dst": 4, "mbps": 5, "paths": [{"t": 0.1, "core": 3}, *later]},
        {"src": 4, "dst": 12, "mbps": 5, "paths": [{"t": 0.1, "core": 3}]},
        {"src": 0, "dst": 2, "mbps": 5, "paths": [{"t": 0.1, "core": 0}]},  # within a pod: core 0 stands for its path
    ]
    assert describe_paths(read(store(tmp_path, run_document(scheme=scheme, flows=flows, settings=settings)))) == words


@pytest.mark.parametrize(
    ("asked", "how"), [("hashed", "by hashes of their own"), ("with-data", "over their data's cables")]
)
def test_a_run_tells_where_acknowledgements_went(tmp_path, asked, how):
    flows = [{"src": 0, "dst": 4, "mbps": 5, "paths": [{"t": 0.1, "core": 3}]}]
    streams = {"0_3_1-eth2": 3.25, "0_0_2": 9}  # a host's own link carries its flows', whatever their paths
    document = run_document(scheme="ecmp", flows=flows, settings={"ack_paths": asked}, ack_streams=streams)
    run = read(store(tmp_path, document))
    assert describe_paths(run).endswith(
        f"acknowledgements went back {how}, those of 3.25 flows on one link between switches at most"
    )
    (drawn,) = collect_explorer_data(load_sweep(tmp_path))["runs"]
    assert sorted(drawn["acks"])[-2:] == [3.25, 9]


def test_a_second_that_a_round_cuts_is_left_out_where_there_are_whole_ones():
    flow = FlowRecord(src=0, dst=4, mbps=5.0, per_second_mbps=(1.0, 1.0, 9.0, 9.0))
    means = average_rates([flow], [0.0, 2.7, 3.2, 6.0, 6.0])[:, 0].tolist()
    assert means[0] == 1.0
    assert means[1] == pytest.approx(9), "no whole second: 0.3 s of the third, 0.2 s of the fourth"
    assert means[2:] == [0.0, 0.0], "it sent nothing after the fourth"
    assert average_rates([flow], [1.5, 2.2]) == pytest.approx((0.5 * 1 + 0.2 * 9) / 0.7), "no whole second"


def test_loads_from_flows_and_paths_match_the_rates_that_were_measured(tmp_path):
    """What the page draws between rounds must be what the ports saw, up to headers and acknowledgements."""
    kept_sweep(tmp_path, ["published:rand0"], ["nonblocking", "ecmp", "hedera-gff"])
    data = collect_explorer_data(load_sweep(tmp_path))
    (ecmp,) = (run for run in data["runs"] if run["scheme"] == "ecmp")
    load = np.zeros(len(data["links"]))
    for flow, (_, _, paths) in enumerate(ecmp["paths"]):
        for link in paths[-1][2]:
            load[link] += ecmp["stages"][-1][2][flow]
    assert np.corrcoef(load, ecmp["links"])[0, 1] > 0.999
    assert load.sum() / compute_payload_share() == pytest.approx(sum(ecmp["links"]), rel=0.05)
    gff = next(run for run in data["runs"] if run["scheme"] == "hedera-gff")
    first = gff["rounds"][0]
    moved = sum(any(stage == 1 for stage, *_ in paths) for _, _, paths in gff["paths"])
    assert moved == first[2] > 0, "as many flows change their path in round 1 as the round says"


def test_paths_of_the_page_lead_from_source_to_destination(tmp_path):
    kept_sweep(tmp_path, ["published:stag0(0.2,0.3)"], ["hedera-sa"])
    data = collect_explorer_data(load_sweep(tmp_path))
    tree = FatTree(4)
    (run,) = data["runs"]
    assert len(run["paths"]) == 16
    for src, dst, paths in run["paths"]:
        for _, core, links in paths:
            nodes = [data["links"][links[0]][0], *(data["links"][link][1] for link in links)]
            assert tuple(nodes) == tree.path(src, dst, core)


def test_a_path_that_was_logged_just_before_its_round_belongs_to_it(tmp_path):
    flows = [{"src": 0, "dst": 4, "mbps": 5, "paths": [{"t": 0.1, "core": 0}, {"t": 1.997, "core": 3}]}]
    cut = split_into_stages(read(store(tmp_path, run_document(seconds=6, flows=flows, rounds=rounds((2.0, 1))))))
    assert [stage.cores for stage in cut] == [(0,), (3,)]


def test_a_run_with_too_many_flows_lists_none(tmp_path):
    flows = [{"src": 0, "dst": 4, "mbps": 1.0}] * (MAX_FLOWS + 1)
    store(tmp_path, run_document(scheme="ecmp", flows=flows))
    (run,) = collect_explorer_data(load_sweep(tmp_path))["runs"]
    assert (run["flows"], run["paths"], run["stages"]) == (MAX_FLOWS + 1, [], [])


def test_hosts_and_cores_that_do_not_exist_have_no_links(tmp_path):
    flows = [{"src": 0, "dst": dst, "mbps": 1, "paths": [{"t": 0, "core": core}]} for dst, core in ((99, 0), (4, 7))]
    store(tmp_path, run_document(scheme="ecmp", flows=flows))
    (run,) = collect_explorer_data(load_sweep(tmp_path))["runs"]
    assert [paths for _, _, paths in run["paths"]] == [[[0, 0, []]], [[0, 7, []]]]
