"""The links that have to be full, and from when on."""

from dataclasses import replace

import numpy as np
import pytest

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.saturation import full_links, settled_window
from tests.harness.verdict.fine import measured
from topos.fattree import FatTree

TREE = FatTree(4)


@pytest.mark.parametrize(
    ("seconds", "changes", "settings", "window"),
    [
        (60, [], {}, (10, 50)),
        (60, [0.0, 2.0, 4.0], {}, (10, 50)),
        (60, [12.0, 55.0], {}, (17, 50)),
        (60, [44.5], {}, (49.5, 60)),
        (60, [44.5, 52.0], {}, (57, 60)),
        (60, [44.5, 56.0], {}, None),
        (60, [12.0], {"link_mbps": 1}, (12 + 25 * 0.6, 50)),
        (10, [0.0, 0.1], {}, (5.1, 50 / 6)),
        (7, [0.0], {}, (5, 7)),  # after the measuring window
        (5.5, [0.0], {}, None),
        (10, [2.333], {}, (7.333, 8.333)),  # a second of the measuring window is left
        (10, [2.334], {}, (7.334, 10)),
        (10, [3.999], {}, (8.999, 10)),
        (10, [4.001], {}, None),
        # 25 times through a full queue of 166 packets of 1500 bytes at 10 Mb/s are 4.98 s, of 167 are 5.01
        (10, [2.33], {"queue": 166}, (7.33, 8.333)),
        (10, [2.33], {"queue": 167}, (7.34, 10)),
        # docs/notes/conditions.md: 50 packets of 9000 bytes at 10 Mb/s are 9 s, 200 at 25 Mb/s are 14.4
        (10, [0.0], {"queue": 300}, (9.0, 10)),
        (10, [0.01], {"queue": 300}, None),
        (10, [0.0], {"link_mbps": 25, "queue": 1200}, None),
    ],
)
def test_links_that_have_to_be_full_are_judged_once_tcp_has_settled(seconds, changes, settings, window):
    spec = RunSpec("ecmp", "stride:4", seconds=seconds, **{"link_mbps": 10, **settings})
    expected = None if window is None else pytest.approx(window, abs=1e-3)
    assert settled_window(spec, changes, []) == expected
    assert settled_window(spec, [], [Outage(t, frozenset()) for t in changes]) == expected, "as after a failure"


def test_without_a_settled_second_the_measuring_window_is_all_there_is():
    spec = RunSpec(scheme="ecmp", traffic="stride:4", seconds=8, link_mbps=10)
    t = np.arange(1.0, 9.0)
    found = full_links(TREE, spec, [measured(0, 1), measured(0, 1, start=3.25)], [], {"0_0_2": (t, np.full(8, 9.9))})
    assert found.window == spec.window_s
    assert found.mbps["0_0_2"] == pytest.approx(9.9)
    assert found.why_not is not None
    assert "that takes 5 s after" in found.why_not
    longer = replace(spec, seconds=10)
    assert full_links(TREE, longer, [measured(0, 1), measured(0, 1, start=3.25)], [], {}).why_not is None


def test_only_links_that_are_full_all_the_time_have_to_be():
    spec = RunSpec(scheme="ecmp", traffic="stride:4", seconds=60, link_mbps=10)
    # Two flows of one host share its link, and leave all others half empty, but for the second receiver's.
    flows = [measured(0, 4, (0, 0)), measured(0, 8, (0, 3)), measured(12, 8, (0, 0))]
    t = np.arange(1.0, 61.0)
    sent = {"0_0_2": (t, np.full(60, 9.9)), "2_0_1-eth2": (t, np.where(t > 30, 9.0, 10.0))}
    found = full_links(TREE, spec, flows, [], sent)
    assert found.window == (10, 50)
    assert found.mbps == {"0_0_2": pytest.approx(9.9), "2_0_1-eth2": pytest.approx(9.5)}
    # The first flow's way is another one from second 20 on: what was full before counts from 25 on.
    moved = [measured(0, 4, (0, 0), (20, 1)), *flows[1:]]
    assert full_links(TREE, spec, moved, [], sent).window == (25, 50)


def test_a_port_without_samples_is_no_proof():
    spec = RunSpec(scheme="ecmp", traffic="stride:4", seconds=60, link_mbps=10)
    found = full_links(TREE, spec, [measured(0, 1), measured(2, 1)], [], {})
    assert found.mbps == {"0_0_1-eth4": pytest.approx(np.nan, nan_ok=True)}
