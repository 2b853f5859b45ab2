import numpy as np
import pytest

from traffic.flows import Matrix


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
        ([0, 1], [2], "2 senders, and another number in dst"),
        ([0, 99], [1, 2], "the sender of flow 1 is host 99, but there are only hosts 0 to 15"),
        ([0], [16], "the receiver of flow 0 is host 16"),
        ([0], [-1], "host -1"),
        ([0, 3], [1, 3], "flow 1 goes from host 3 to itself"),
    ],
)
def test_refuses(src, dst, message):
    with pytest.raises(ValueError, match=message):
        Matrix(np.array(src), np.array(dst), 16, "test")
