import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topos.fattree import FatTree
from topos.network import NonBlocking
from traffic.flowfile import read_listed
from traffic.patterns import draw

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
    ],
)
def test_errors_name_file_and_line(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_listed(path, TREE)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(write):
    path = write("src_host,dst_host\n0,1\n")
    path.chmod(0)
    with pytest.raises(ValueError, match="cannot be read: Permission denied"):
        read_listed(path, TREE)


def test_the_control_network_reads_the_same_file(write):
    path = write("10.0.0.2 10.3.1.3 5001\n")
    assert flows(read_listed(path, NonBlocking(16))) == [(0, 15)]


def test_by_spec(write):
    path = write("src_host,dst_host\n0,4\n")
    matrix = draw(f"file:{path}", TREE, flows_per_host=2)
    assert flows(matrix) == [(0, 4), (0, 4)]
    assert matrix.name == f"file:{path}"
