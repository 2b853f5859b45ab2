import numpy as np
import pytest

from traffic.matrix import Matrix


def matrix(src, dst, num_hosts=16, **more):
    return Matrix(np.array(src), np.array(dst), num_hosts, "test", **more)


def test_arrays_become_read_only_copies():
    src = np.array([0, 1])
    m = Matrix(src, np.array([4, 5]), 16)
    src[0] = 9
    assert m.src.tolist() == [0, 1]
    assert m.src.dtype == m.dst.dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        m.src[0] = 3
    assert len(m) == 2
    assert not m.sequential


@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        ([], [], "has no flow"),
        ([0, 1], [2], "2 senders but 1 receivers"),
        ([0, 99], [1, 2], "the sender of flow 1 is host 99, but there are only hosts 0 to 15"),
        ([0], [16], "the receiver of flow 0 is host 16"),
        ([0], [-1], "host -1"),
        ([0, 3], [1, 3], "flow 1 goes from host 3 to itself"),
        ([0.5], [1.0], "array of integers"),
        ([[0]], [[1]], "one-dimensional"),
        ([2**40], [1], "too large"),
    ],
)
def test_refuses(src, dst, message):
    with pytest.raises(ValueError, match=message):
        matrix(src, dst)


def test_sizes_and_turns_go_together():
    one = np.array([1])
    with pytest.raises(ValueError, match="together"):
        matrix([0], [1], size_bytes=one)
    with pytest.raises(ValueError, match="above 0 bytes"):
        matrix([0], [1], size_bytes=np.array([0]), turn=one)
    with pytest.raises(ValueError, match="one size and one turn for each of its 2 flows"):
        matrix([0, 1], [1, 2], size_bytes=one, turn=one)
    with pytest.raises(ValueError, match="host 0 has two flows of turn 1"):
        matrix([0, 0], [1, 2], size_bytes=np.array([5, 5]), turn=np.array([1, 1]))
    assert matrix([0, 0], [1, 2], size_bytes=np.array([5, 5]), turn=np.array([0, 1])).sequential
