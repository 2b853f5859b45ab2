"""Files that are nearly right: each is read, or refused with one sentence. Never another exception, nor a hang."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traffic import encoded
from tests.traffic.test_programs import CAPTURED
from tests.traffic.test_traces import FLOWS as MATRIX
from topos.fattree import FatTree
from traffic.flowfile import read_listed
from traffic.programs import parse_report, parse_samples
from traffic.sizes import find_size_law
from traffic.traces import read_chakra, read_goal, read_htsim

TREE = FatTree(4)
CSV = b"src_host,dst_host,size\n0,4,1\n1,5,1\n# a comment\n15,0,2\n"
LINES = b"# flows\n10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0\n10.0.0.3 10.2.0.2 5001 tcp 1 0.0 60.0 0\n"
GOAL = b"num_ranks 2\nrank 0 {\na: calc 5 /* so */\nb: send 7b to 1 tag 3\nb requires a\n}\n"
GOAL += b"rank 1 {\nrecv 7b from 0 tag 3\n}"
PERCENT = b"# c\n0 0\n100 50\n1000 100\n"
PFABRIC = b"6 1 0\n6 1 .5\n9 1 1\n"
NS3 = b"2\n0 12 3 100 200 2.0\n1 3 3 100 200 2.0\n"
SIZES = b"bytes,cumulative_probability\n1,0\n100,0.5\n1000,1\n"
IPERF = (CAPTURED / "iperf-2.1.9-server.csv").read_bytes()[:1500]
BWMNG = (CAPTURED / "bwm-ng-0.6.3.csv").read_bytes()[:2500]
TRACE = encoded.trace(encoded.node(1, encoded.COMP, micros=5), encoded.together(2, encoded.ALL_REDUCE, data=(1,)))


@st.composite
def mutated(draw, contents):
    """One of the contents with parts taken out, doubled, or replaced."""
    data = draw(st.sampled_from(contents))
    for _ in range(draw(st.integers(1, 4))):
        a, b = sorted(draw(st.integers(0, len(data))) for _ in range(2))
        data = (
            data[:a]
            + draw(st.sampled_from([b"", data[a:b] * 2, b"\0", b"-1", b"9" * 30, b"\n", b"\xff", b","]))
            + data[b:]
        )
    return data


@pytest.mark.parametrize(
    ("read", "contents"),
    [
        (lambda path: read_listed(path, TREE), [CSV, LINES, NS3]),
        (read_goal, [GOAL]),
        (lambda path: read_htsim(path, "it"), [MATRIX.encode()]),
        (lambda path: find_size_law(str(path)), [SIZES, PERCENT, PFABRIC]),
        (lambda path: parse_report(path.read_text(errors="replace")), [IPERF]),
        (lambda path: parse_samples(path.read_text(errors="replace")), [BWMNG]),
        (lambda path: read_chakra(str(path).removesuffix(".0.et")), [TRACE]),
    ],
    ids=["flows", "goal", "htsim", "sizes", "iperf", "bwm-ng", "chakra"],
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(data=st.data())
def test_what_is_nearly_right_is_read_or_refused_in_one_sentence(tmp_path, read, contents, data):
    path = tmp_path / "file.csv.0.et"
    path.write_bytes(data.draw(mutated(contents)))
    said = "nothing"
    try:
        read(path)
    except ValueError as error:
        said = str(error)
    assert said
    assert "\n" not in said
