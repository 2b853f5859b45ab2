import numpy as np
import pytest

from traffic.patterns import PUBLISHED, REPLICATION, draw, published

# The shares of flows that stay on the edge switch, and in the pod besides.
LOCALITY = {
    "stag0(0.2,0.3)": (5, 4),
    "stag0(0.5,0.3)": (8, 3),
    "stride1": (8, 4),
    "stride2": (0, 8),
    "stride4": (0, 0),
    "rand0": (0, 3),
    "randbij0": (2, 0),
    "hotspot": (1, 0),
}


def test_flows_per_host():
    for name in PUBLISHED:
        per_host = int(name[-1]) if name.startswith("randx") else 1
        matrix = published(name)
        assert np.bincount(matrix.src, minlength=16).tolist() == [per_host] * 16
        pairs = set(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))
        assert len(pairs) == 16 * per_host, "a host sends to no host twice"


def test_bijections():
    for name in PUBLISHED:
        bijective = sorted(published(name).dst.tolist()) == list(range(16))
        assert bijective == name.startswith(("stag", "stride", "randbij"))
        if name.startswith("stride"):
            assert published(name).dst.tolist() == draw(f"stride:{name[6:]}", 16).dst.tolist()


def test_hotspot_has_two_hosts_with_three_senders():
    received = np.bincount(published("hotspot").dst, minlength=16)
    assert np.sort(received).tolist() == [0] * 4 + [1] * 10 + [3] * 2
    assert np.flatnonzero(received == 3).tolist() == [9, 13]


def test_locality():
    for name, expected in LOCALITY.items():
        m = published(name)
        edge = m.src // 2 == m.dst // 2
        pod = (m.src // 4 == m.dst // 4) & ~edge
        assert (edge.sum(), pod.sum()) == expected


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"no published traffic matrix 'stride3'.* stride4 "):
        published("stride3")


def test_the_replications_workloads():
    """One flow per host, two, and half of six; of randbij with seed 2 two hosts send to themselves, so nothing."""
    matrices = {name: published(name, "replication") for name in REPLICATION}
    assert len(matrices) == 27
    for name, matrix in matrices.items():
        flows = {"1x": 16, "2x": 32, "6x": 48}[name[:2]]
        assert len(matrix) == flows - 2 * (name == "1xrandbij2")
        assert not (matrix.src == matrix.dst).any()
        assert draw(f"replication:{name}", 16).dst.tolist() == matrix.dst.tolist(), "whatever the seed"
    assert matrices["1xstride4"].dst.tolist() == published("stride4").dst.tolist()
    assert matrices["1xrandbij1"].dst.tolist()[:4] == [1, 13, 9, 14]
    assert sorted(np.bincount(matrices["6xrandom4"].src, minlength=16))[0] < 3, "hosts have different numbers"
