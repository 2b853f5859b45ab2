"""Connection matrices for csg-htsim, held against what its loader asks for (sim/datacenter/connection_matrix.cpp)."""

import re

import pytest

from tests.traffic.graphs import graph
from topos.fattree import FatTree
from traffic.collectives import collective
from traffic.htsim import write_matrix


def loaded(path):
    """The flows by id, and for whom each waits, as that loader and its triggers would have it; checks the rules."""
    lines = path.read_text().splitlines()
    header = dict(line.split(" ") for line in lines[:3])
    flows, triggers = {}, {}
    for line in lines[3:]:
        words = line.split(" ")
        if words[0] == "trigger":
            kind, count = words[3], int(words[5]) if words[3] == "barrier" else 1
            assert words[1] == "id"
            assert kind in ("oneshot", "barrier")
            assert int(words[2]) > 0
            assert words[2] not in triggers, "a trigger is told once"
            triggers[words[2]] = count
            continue
        src, dst = map(int, re.fullmatch(r"(\d+)->(\d+)", words[0]).groups())
        assert src != dst
        assert max(src, dst) < int(header["Nodes"])
        said = dict(zip(words[1::2], words[2::2], strict=True))
        assert words[1] == "id", "before its trigger"
        assert int(said["id"]) > 0
        assert ("start" in said) != ("trigger" in said)
        assert 0 < int(said["size"]) < 2**31
        assert set(said) <= {"id", "start", "trigger", "size", "send_done_trigger"}
        flows[said["id"]] = (src, dst, said)
    assert len(flows) == int(header["Connections"])
    assert len(triggers) == int(header["Triggers"])
    waits = {number: set() for number in flows}
    fired = dict.fromkeys(triggers, 0)
    for number, (_, _, said) in flows.items():
        if "send_done_trigger" in said:
            fired[said["send_done_trigger"]] += 1
            for other, (_, _, theirs) in flows.items():
                if theirs.get("trigger") == said["send_done_trigger"]:
                    waits[other].add(number)
    assert fired == triggers, "a barrier fires when as many flows are done as it counts"
    relays = {number for number, (*_, said) in flows.items() if said["size"] == "1"}
    for relay in relays:
        (one,) = waits[relay]
        assert flows[relay][:2] == flows[one][:2], "on the way of the flow that it is for"
    before = {
        number: {one for each in waits[number] for one in (waits[each] if each in relays else {each})}
        for number in flows.keys() - relays
    }
    return flows, before


@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("spec", ["ring:8,1600", "halving-doubling:8,1600", "all-to-all:4,1000", "pipeline:4,100"])
def test_all_flows_wait_for_those_that_they_waited_for(spec, repeats, tmp_path):
    found = collective(spec, FatTree(4), 3, placement="random", repeats=repeats)
    write_matrix(tmp_path / "it.cm", found)
    flows, before = loaded(tmp_path / "it.cm")
    sends = [n for n in range(len(found)) if not found.computes[n]]
    number = {n: str(i) for i, n in enumerate(sends, 1)}
    assert [flows[number[n]][:2] for n in sends] == [(found.src[n], found.dst[n]) for n in sends]
    direct = {}
    for waiting, one in zip(found.waiting.tolist(), found.before.tolist(), strict=True):
        direct.setdefault(waiting, []).append(one)

    def waited(node):
        return {
            flow for one in direct.get(node, ()) for flow in (waited(one) if found.computes[one] else {number[one]})
        }

    assert before == {number[n]: waited(n) for n in sends}


def test_starts_are_in_picoseconds_and_a_flow_sets_off_one_trigger(tmp_path):
    write_matrix(
        tmp_path / "it.cm",
        graph(
            (0, 1, 5, 1e-6), (1, 2, 6, 0.0), (0, 3, 7, 0.0), (2, 3, 9, 0.0),
            edges=[(1, 0), (2, 0), (3, 0), (3, 1)],
        ),
    )  # fmt: skip
    assert (tmp_path / "it.cm").read_text().splitlines() == [
        "Nodes 4",
        "Connections 6",
        "Triggers 3",
        "0->1 id 1 start 1000000 size 5 send_done_trigger 3",
        "1->2 id 2 trigger 1 size 6 send_done_trigger 2",
        "0->3 id 3 trigger 1 size 7",
        "2->3 id 4 trigger 2 size 9",
        "0->1 id 5 trigger 3 size 1 send_done_trigger 1",
        "0->1 id 6 trigger 3 size 1 send_done_trigger 2",
        "trigger id 1 oneshot",
        "trigger id 2 barrier count 2",
        "trigger id 3 oneshot",
    ]


@pytest.mark.parametrize(
    ("rows", "edges", "says"),
    [
        ([(0, 1, 2**31, 0.0)], [], "has 2,147,483,648 bytes, and 2,147,483,647 are the most"),
        ([(0, 1, 5, 0.0), (1, 2, 5, 0.1)], [(1, 0)], "computes or waits for a time"),
        ([(0, 0, 0, 0.1), (0, 2, 5, 0.0)], [(1, 0)], "computes or waits for a time"),
    ],
)
def test_what_it_cannot_say_is_refused_in_one_sentence(rows, edges, says, tmp_path):
    with pytest.raises(ValueError, match=says) as told:
        write_matrix(tmp_path / "no.cm", graph(*rows, edges=edges))
    assert "\n" not in str(told.value)
    assert not list(tmp_path.iterdir())
