import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.commands import PROJECT
from tests.refused import refused
from topos.fattree import FatTree
from topos.network import NonBlocking
from traffic import flowfile, user_files
from traffic.flowfile import read_listed
from traffic.workload import make_workload, read_files

TREE = FatTree(4)


def flows(matrix):
    return list(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))


@pytest.fixture
def write(tmp_path):
    def write(content, name="flows"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        "src_host,dst_host\n0,4\n1,5\n",
        "src_host,dst_host\r\n0,4\r\n1,5\r\n",
        "\ufeffsrc_host,dst_host\n0,4\n1,5",
        "src_host,dst_host\r0,4\r1,5\r",
        "src;dst\n0; 4\n1;5\n",
        "dst  src\n4 0\n5\t1\n",
        "# a comment\n\nsrc_host , dst_host # another\n 0 , 4 # one\n\n1,5\n",
        'pattern,dst_host,src_host\n"stag0(0.2,0.3)",4,0\n"#1",5,1\n',
        "10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0\n10.0.0.3\t10.1.0.3\n",
        "#src_ip dst_ip dst_port type\n\n  10.0.0.2   10.1.0.2 # x\r\n10.0.0.3 10.1.0.3\r\n",
    ],
)
def test_both_formats(write, content):
    assert flows(read_listed(write(content), TREE)) == [(0, 4), (1, 5)]


@given(pairs=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)).filter(lambda p: p[0] != p[1]), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(write, pairs):
    rows = "".join(f"{s},{d},extra\n" for s, d in pairs)
    assert flows(read_listed(write("src_host,dst_host,note\n" + rows), TREE)) == pairs
    lines = "".join(f"{TREE.host_ip(s)} {TREE.host_ip(d)} 5001 tcp 1 0 60 0\n" for s, d in pairs)
    assert flows(read_listed(write(lines), TREE)) == pairs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no flow"),
        ("src,dst\n" + "0,1\n" * 2_000_000, "more than 2,000,000 lines"),
        ("src_host,dst_host\n", "holds no flow, only a header in line 1"),
        ("0,4\n", "line 1: the header of a CSV file must have the columns src_host,dst_host"),
        ("src,src,dst\n0,1,4\n", "line 1: .*src_host twice"),
        ("src,dst,size\n0,1,4\n", "line 1: column 'size' .*size_bytes"),
        ("src_host,dst_host\n0,4\n99,1\n", "line 3: there is no host '99', only 0 to 15"),
        ("# c\nsrc_host,dst_host\n7,7\n", "line 3: the flow goes from host 7 to itself"),
        ("src_host,dst_host\n" + "9" * 5000 + ",1\n", r"there is no host '9+\.\.\.'"),
        ('src_host,dst_host\n"1,2\n', "line 2: it is not CSV"),
        ("10.0.0.2 10.4.0.2\n", "'10.4.0.2' is not the address of a host; they are 10.0.0.2 to 10.3.1.3"),
        ("src_host,dst_host,start_s\n0,1,-1\n", "line 2: a flow cannot start at '-1' seconds"),
        ("src_host,dst_host,size_bytes\n0,1,1.5\n", "line 2: '1.5' is not a flow's size in whole bytes"),
        ("10.0.0.2 10.0.0.3 5001 tcp 1 x 60 0\n", "line 1: a flow cannot start at 'x' seconds"),
        (b"\x00\x01\x02", "line 1: "),
        # in another form, which is named
        ("[[0, 1], [1, 2]]", "it is JSON"),
        ('{"0": {"1": 5}}', "it is JSON"),
        ("{}", "it is JSON"),
        ("[(0, 1), (1, 2)]", "list of Python's"),
        ("import numpy\npairs = [(0, 1)]", "it is Python"),
        ("pairs = [(0, 1)]", "it is Python"),
        ('"""Pairs."""\npairs = 1', "it is Python"),
        ("0 0.5 0\n1 0 0\n0 0 0", "it is a matrix"),
        ("0 -1 0\n1 0 0\n0 0 0", "it is a matrix"),
        ('{"0": [16]}', "flow 0: there is no host '16'"),
        ('{"0": [1, 0]}', "flow 1: the flow goes from host 0 to itself"),
        ("0,4,1\n1,5,1\n2,6,1", "header of a CSV file"),
        ("<graphml/>", "it looks like XML .of which --topology reads GraphML"),
        ("graph [\n node [", "it looks like GML"),
        ("Nodes 16\nConnections 0", "it looks like a connection matrix of htsim, which htsim:FILE reads"),
        ("num_ranks 2", "it looks like GOAL, which goal:FILE reads"),
        ("0 0\n10000 15\n20000 100", "it looks like sizes of flows, which poisson:FILE,LOAD reads"),
        ("6 1 0\n6 1 0.15", "it looks like sizes of flows"),
        ("348 28 800\n320 321", "it looks like ns-3's topology.txt"),
        ("5\n6\n7", "it looks like a list of numbers"),
        # ns-3's flow.txt
        ("3\n0 12 3 100 200000 2.0", "it looks like ns-3's flow.txt, and is cut: it says 3 flows, and has 1"),
        ("1\n0 16 3 100 200000 2.0", "line 2: there is no host '16', only 0 to 15"),
        ("1\n5 5 3 100 200000 2.0", "line 2: the flow goes from host 5 to itself"),
        ("2\n0 1 3 100 2000 2.0\n1 2 3 100 2000 nan", "line 3: a flow cannot start at 'nan' seconds"),
        ("1\n0 1 3 100 2000 -2", "line 2: a flow cannot start at '-2' seconds"),
        ("1\n0 1 3 100 -2000 2", "line 2: '-2000' is not a flow's size"),
        ("1\n0 1 3 100 0 2", "line 2: a flow has bytes above 0"),
        ("2\n0 1 3 100 2000 2\n0 1 100 2000 2", "line 3: .* has not 6 columns"),
    ],
)
def test_errors_name_file_and_line(write, content, message):
    path = write(content)
    with refused(message) as error:
        read_listed(path, TREE)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    "content",
    [
        '{"0": [4], "1": [5, 5]}',
        '\n{"0": [4],\n "1": [5, 5], "2": []}\n',
        "\n".join(
            " ".join({(0, 4): "1", (1, 5): "2"}.get((row, column), "0") for column in range(6)) for row in range(6)
        ),
        "\n".join(
            ",".join({(0, 4): "1.0", (1, 5): "2."}.get((r, c), "0.0") for c in range(16)) + "," for r in range(16)
        ),
    ],
)
def test_receivers_by_sender_and_matrices_are_read(write, content):
    read = read_listed(write(content), FatTree(4))
    assert list(zip(read.src.tolist(), read.dst.tolist(), strict=True)) == [(0, 4), (1, 5), (1, 5)]
    assert np.isinf(read.size_bytes).all()


@pytest.mark.parametrize("columns", ["3 100 ", "3 ", ""])
def test_ns3s_flow_txt_as_hpcc_and_its_descendants_have_it(write, columns):
    """A count, then so many flows of six columns, or of fewer; what is behind them is the format's own explanation."""
    path = write(
        f"3\n0 12 {columns}200000 2.0\n1 13 {columns}2000000 2.001\n2 14 {columns}20000 2.002\n\n# of flows: first\n"
    )
    read = read_listed(path, TREE)
    assert flows(read) == [(0, 12), (1, 13), (2, 14)]
    assert read.start_s.tolist() == [2.0, 2.001, 2.002]
    assert read.size_bytes.tolist() == [200_000, 2_000_000, 20_000]
    work = make_workload(f"file:{path}", TREE, seconds=2.0015)
    assert [(flow.src, flow.start_s, flow.size_bytes) for flow in work] == [(0, 2.0, 200_000), (1, 2.001, 2_000_000)]


def test_the_control_network_reads_the_same_file(write):
    path = write("10.0.0.2 10.3.1.3 5001\n")
    assert flows(read_listed(path, NonBlocking(16))) == [(0, 15)]


# --- functions of the user's own ---

RING = PROJECT / "docs/examples/ring.py"


def test_lasting_flows_are_a_matrix_and_the_seed_fixes_them():
    first, again, other = (make_workload(f"{RING}:ring", FatTree(4), seed, seconds=5.0) for seed in (1, 1, 2))
    assert sorted(first.matrix.src.tolist()) == sorted(first.matrix.dst.tolist()) == list(range(16))
    assert (first.matrix.src == again.matrix.src).all()
    assert (first.matrix.src != other.matrix.src).any()


def test_flows_with_times_come_in_order_and_are_of_the_size_that_was_given():
    work = make_workload(f"stride:4 + {RING}:mice", FatTree(4), 1, seconds=2.0)
    sized = [flow for flow in work if flow.size_bytes is not None]
    assert 50 < len(sized) <= 200
    assert {flow.size_bytes for flow in sized} == {10_000}
    assert sorted(flow.start_s for flow in sized) == [flow.start_s for flow in sized]
    assert all(0 < flow.start_s < 2 for flow in sized)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("def f(tree, rng): return [(0, 0)]", "flow 0: .* from host 0 to itself"),
        ("def f(tree, rng): return [(0, 16)]", "there is no host '16'"),
        ("def f(tree, rng): return [(0.5, 1)]", "which are no host numbers"),
        ("def f(tree, rng): return [(0, 1, 2)]", r"flow 0 is no \(src, dst\)"),
        ("def f(tree, rng): return []", "holds no flow"),
        ("def f(tree): return [(0, 1)]", "TypeError: f.. takes 1 positional argument"),
        ("def g(tree, rng): return [(0, 1)]", "there is no function f in"),
        ("def f(tree, rng): 1 / 0", "ZeroDivisionError: division by zero"),
        ("import os\ndef f(tree, rng):\n yield 0, 1\n os._exit(0)", "os._exit"),
        ("class B(BaseException): pass\ndef f(tree, rng): raise B('x')", "B: x"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(write, body, sentence):
    path = write(body, "mine.py")
    with refused(sentence) as caught:
        make_workload(f"{path}:f", FatTree(4), seconds=5.0)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_and_numbers_of_flows_that_are_not_its_to_change(tmp_path):
    with pytest.raises(ValueError, match="is not there"):
        make_workload(f"{tmp_path}/nowhere.py:f", FatTree(4), seconds=5.0)
    with pytest.raises(ValueError, match="decides itself how many"):
        make_workload(f"{RING}:ring", FatTree(4), seconds=5.0, keep=0.5)


def test_endless_rows_have_an_end(write, monkeypatch):
    path = write("import itertools\nf = lambda t, r: itertools.repeat((0, 1))\n", "mine.py")
    monkeypatch.setattr(flowfile, "MAX_ROWS", 1000)
    with pytest.raises(ValueError, match="more than 1,000 flows"):
        make_workload(f"{path}:f", FatTree(4), seconds=5.0)


def test_a_job_carries_the_rows(write, monkeypatch):
    path = write("def f(tree, rng): return [(0, 1, 0.5, 7)]", "mine.py")
    spec = f"stride:4 + {path}:f"
    taken = read_files(spec, FatTree(4), 1)
    path.unlink()
    for name, content in taken.items():
        monkeypatch.setitem(user_files.job_files, name, content)
    (flow,) = [flow for flow in make_workload(spec, FatTree(4), 1, seconds=5.0) if flow.size_bytes is not None]
    assert (flow.src, flow.dst, flow.start_s, flow.size_bytes) == (0, 1, 0.5, 7)


def test_it_is_asked_again_when_the_file_changes(write):
    path = write("def f(tree, rng): return [(0, 1)]", "mine.py")
    assert make_workload(f"{path}:f", FatTree(4), seconds=5.0).matrix.dst.tolist() == [1]
    path.write_text("def f(tree, rng): return [(0, 2)]")
    os.utime(path, ns=(1, 1))
    assert make_workload(f"{path}:f", FatTree(4), seconds=5.0).matrix.dst.tolist() == [2]


def test_the_page_shows_what_the_example_says():
    page = (PROJECT / "docs/workloads.md").read_text()
    shown = page.split("```python\n")[1].split("```")[0]
    assert shown in RING.read_text()
