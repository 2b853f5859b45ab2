"""What is written for other programs: run there where there is one, else read back."""

import csv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from record.spec import load_own_network
from simulator.config import Config
from simulator.driver import simulate
from simulator.export import export
from tests.commands import HEDERA, ran
from tests.refused import refused
from topos.links import link_rates
from traffic.flowfile import read_listed
from traffic.traces import read_htsim

PYTHON = "/usr/bin/python3"
"""Debian's, whose packages SimGrid's is one of."""


def config(traffic="stride:4 + poisson:web-search,0.4", scheme="ecmp", **fields):
    return Config(scheme, traffic, **{"seconds": 4.0, "link_mbps": 100.0, "engine": "maxmin", **fields})


@pytest.fixture
def simgrid():
    if not Path(PYTHON).exists() or ran(PYTHON, "-c", "import simgrid").returncode:
        pytest.skip("there is no SimGrid: apt-get install python3-simgrid")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"seed": 3, "oversubscribe": 2.0},
        {"topology": "leaf-spine:4,3,4"},
        {"topology": "docs/examples/four_ring.py:Ring", "traffic": "poisson:google-rpc,0.5"},
        {"scheme": "nonblocking"},
        {"scheme": "spanning-tree", "traffic": "random + poisson:fixed:100000,0.2"},
        {"traffic": "stride:2 + stride:2 + poisson:fixed:1000000,0.3 to stride:2"},
    ],
    ids=str,
)
def test_flows_end_in_simgrid_when_they_end_here(simgrid, tmp_path, fields):
    """Under max-min, within 1e-6 of their times; those that last do not end before the run."""
    asked = config(**fields)
    export(asked, "simgrid", tmp_path)
    done = ran(PYTHON, tmp_path / "run.py")
    assert done.returncode == 0, done.stderr
    there = np.array([float(row["end_s"]) for row in csv.DictReader(done.stdout.splitlines())])
    ours = simulate(asked)
    here = ours.end_s[np.argsort(ours.start_s, kind="stable")]
    ended = np.isfinite(here)
    assert ended.sum() > 20 or "random" in asked.traffic
    assert there[ended] == pytest.approx(here[ended], rel=1e-6)
    assert (there[~ended] >= asked.seconds * (1 - 1e-6)).all()


def test_simgrids_platform_has_the_links_and_the_paths(tmp_path):
    """Flows of one pair of hosts by two paths get a host each, and share the hosts' links."""
    asked = config("stride:4 + stride:4 + stride:4")
    export(asked, "simgrid", tmp_path)
    zone = ElementTree.parse(tmp_path / "platform.xml").getroot().find("zone")
    rows = list(csv.DictReader((tmp_path / "flows.csv").read_text().splitlines()))
    assert len(rows) == 48
    rates = [float(link.get("bandwidth").removesuffix("bps")) for link in zone.iter("link")]
    assert rates == (link_rates(asked.network()) * 1e8).tolist()
    routes = {(one.get("src"), one.get("dst")): [int(link.get("id")) for link in one] for one in zone.iter("route")}
    result = simulate(asked)
    for row, src, dst, core in zip(rows, result.src, result.dst, result.core, strict=True):
        path = routes[row["src"], row["dst"]]
        assert (path[0], path[-1]) == (src, asked.topo.num_hosts * 5 + dst)
        assert len(path) == len(asked.topo.path(src, dst, core)) - 1
    assert any("." in row["src"] for row in rows)


@pytest.mark.parametrize("fields", [{}, {"topology": "leaf-spine:4,3,4"}, {"oversubscribe": 4.0}, {"link_mbps": 12.5}])
def test_hpccs_files_read_back_are_the_network_and_the_flows(tmp_path, fields):
    asked = config(**fields)
    export(asked, "hpcc", tmp_path)
    with pytest.warns(UserWarning, match=f"its hosts are the {asked.topo.num_hosts} nodes"):
        again = load_own_network(str(tmp_path / "topology.txt"), None)
    assert (again.num_hosts, again.num_cables) == (asked.topo.num_hosts, asked.topo.num_cables)
    assert sorted(link_rates(again)) == pytest.approx(sorted(link_rates(asked.topo)))
    assert [again.edge_of(host) == again.edge_of(0) for host in range(again.num_hosts)] == [
        asked.topo.edge_of(host) == asked.topo.edge_of(0) for host in range(again.num_hosts)
    ]
    read, flows = read_listed(tmp_path / "flow.txt", again), asked.flows()[0]
    assert read.start_s.tolist() == sorted(flows.start_s)
    sizes = np.where(np.isinf(flows.size_bytes), np.ceil(asked.link_mbps * 125_000 * 4.0), flows.size_bytes)
    order = np.argsort(flows.start_s, kind="stable")
    assert (read.src.tolist(), read.size_bytes.tolist()) == (flows.src[order].tolist(), sizes[order].tolist())


def test_htsims_files_read_back_are_the_flows_and_say_what_the_tree_is(tmp_path):
    asked = config("stride:4 + poisson:fixed:100000,0.2", link_mbps=10_000.0, seconds=0.01, tick_s=1e-5)
    export(asked, "htsim", tmp_path)
    graph, flows = read_htsim(tmp_path / "flows.cm"), asked.flows()[0]
    order = np.argsort(flows.start_s, kind="stable")
    assert graph.src.tolist() == flows.src[order].tolist()
    assert graph.delay_s == pytest.approx(flows.start_s[order], abs=1e-12)
    tiers = (tmp_path / "network.topo").read_text().split("\nTier ")
    assert tiers[0].split() == ["Nodes", "16", "Tiers", "3", "Podsize", "4"]
    assert [tier.split()[1:7] for tier in tiers[1:3]] == [
        ["Downlink_speed_Gbps", "10", "Radix_Down", "2", "Radix_Up", "2"]
    ] * 2
    assert tiers[3].split()[1:5] == ["Downlink_speed_Gbps", "10", "Radix_Down", "4"]
    export(config(topology="leaf-spine:4,2,4", link_mbps=10_000.0, seconds=0.01, tick_s=1e-5), "htsim", tmp_path)
    leaves, spines = (tmp_path / "network.topo").read_text().split("\nTier ")[1:]
    assert leaves.split()[3:9] == ["Radix_Down", "4", "Radix_Up", "2", "Oversubscribed", "2"]
    assert spines.split()[3:5] == ["Radix_Down", "4"]


@pytest.mark.parametrize(
    ("to", "fields", "words"),
    [
        ("simgrid", {"traffic": "shuffle:1000000"}, "has flows that wait for others"),
        ("hpcc", {"traffic": "ring:16,1000"}, "has flows that wait for others"),
        ("simgrid", {"scheme": "hedera-sa"}, "moves flows, and SimGrid's routes stay"),
        ("simgrid", {"scheme": "spray"}, "moves flows"),
        ("hpcc", {"fail": ("switch:4_1_1@1",)}, "know no failures"),
        ("htsim", {}, "whole numbers of Gb/s, and --bw 100 is none"),
        ("htsim", {"link_mbps": 1000.0, "oversubscribe": 2.0}, "without --oversubscribe"),
        ("htsim", {"link_mbps": 1000.0, "topology": "leaf-spine:4,3,4"}, "not 4 for 3"),
        (
            "htsim",
            {"link_mbps": 1000.0, "topology": "docs/examples/four_ring.py:Ring"},
            "a network from a file is neither",
        ),
        ("htsim", {"link_mbps": 1000.0, "scheme": "nonblocking"}, "a network from a file is neither"),
    ],
)
def test_what_other_programs_files_cannot_say_is_one_sentence(tmp_path, to, fields, words):
    with refused(words):
        export(config(**fields), to, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_command_writes_them_and_says_what_is_missing(tmp_path):
    done = ran(HEDERA, "export", "--to", "hpcc", "--traffic", "stride:4", "--seconds", "4", "--out", tmp_path / "there")
    assert done.stdout.split() == [f"{tmp_path}/there/topology.txt", f"{tmp_path}/there/flow.txt"]
    assert "hpcc chooses them by itself" in done.stderr
    for arguments, words in (
        ((), "give a sweep's FOLDER, or --to"),
        (("--to", "hpcc"), "--to needs --traffic"),
        (("--to", "hpcc", tmp_path), "give a sweep's FOLDER, or --to"),
        (("--to", "simgrid", "--traffic", "stride:99"), "stride"),
    ):
        done = ran(HEDERA, "export", *arguments)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr
