"""The drawing that stands alone."""

import xml.etree.ElementTree as ET

import msgspec
import pytest

from plots import topology
from results.record import decode
from tests.harness.test_cli import asked, assert_one_sentence
from tests.plots.sweeps import run_document, store
from topos.fattree import FatTree
from topos.links import sending_ports

TREE = FatTree(4)
SVG = "{http://www.w3.org/2000/svg}"


def words(path):
    return [each.text for each in ET.parse(path).iter(f"{SVG}text")]


def a_run(scheme="ecmp"):
    """Every link carries 1 Mb/s of 10 but two."""
    links = dict.fromkeys(sending_ports(TREE), 1.0) | {"0_0_2": 9.5, "4_1_1-eth1": 0.0}
    return run_document(scheme=scheme, links=links)


def test_it_names_every_switch_and_host(tmp_path):
    path = topology.write(tmp_path / "t.svg", TREE)
    assert {*TREE.switches, *TREE.hosts, "pod 0", "pod 3"} <= set(words(path))
    assert "16 hosts, 20 switches" in words(path)[0]


def test_lines_are_as_thick_as_what_they_carried(tmp_path):
    run = decode(msgspec.json.encode(a_run()))
    path = topology.write(tmp_path / "t.svg", TREE, run)
    lines = [each for each in ET.parse(path).iter(f"{SVG}path") if each.get("data-link")]
    assert len(lines) == 96
    looks = {line.find(f"{SVG}title").text: line.get("class") for line in lines}
    assert looks["0_0_2 to 0_0_1: 95%"] == "cable u5"
    assert looks["4_1_1 to 0_2_1: 0%"] == "cable u0"
    assert looks["0_0_1 to 0_0_2: 10%"] == "cable u1"
    assert "ecmp on stride4, trial 1" in words(path)[0]


def test_the_command_takes_a_run_s_folder(tmp_path):
    file = store(tmp_path, a_run())
    for named in (file, file.parent):
        done = asked("topology", named, "--picture", tmp_path / "out.svg")
        assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out.svg'}\n")
        assert "ecmp" in words(tmp_path / "out.svg")[0]
    done = asked("topology", "-k", 6, "--picture", tmp_path / "tree.svg")
    assert done.returncode == 0
    assert "54 hosts, 45 switches" in words(tmp_path / "tree.svg")[0]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (a_run("nonblocking"), "one switch"),
        (run_document(scheme="ecmp"), "no rates of the links"),
        ({}, "a run's folder"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, document, said):
    file = tmp_path / "run.json"
    file.write_bytes(msgspec.json.encode(document))
    assert_one_sentence(asked("topology", tmp_path, "--picture", tmp_path / "x.svg"), 2, said)
    assert_one_sentence(asked("topology", "-k", 10, "--picture", tmp_path / "x.svg"), 2, "up to k = 8")
    assert not (tmp_path / "x.svg").exists()
