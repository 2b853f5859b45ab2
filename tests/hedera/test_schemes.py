import subprocess
import sys

import pytest

from hedera.schemes import scheme
from record.spec import Experiment
from simulator.config import Config
from topos.fattree import FatTree


def test_what_one_backend_alone_has_is_refused_by_the_others():
    with pytest.raises(ValueError, match="scheme 'planned' is for the simulator only"):
        Experiment("planned", "stride:4")
    with pytest.raises(ValueError, match="scheme 'flowlet:500' is for emulation only"):
        Config("flowlet:500", "stride:4")


def test_flowlets_are_spelled_with_their_gap():
    found = [Experiment(name, "stride:4").chosen for name in ("flowlet:500", "flowlet:0", "flowlet:16777215", "spray")]
    assert [(one.gap_us, one.sprays) for one in found] == [(500, False), (0, True), (16777215, False), (0, True)]
    for wrong in ("flowlet", "flowlet:", "flowlet:-1", "flowlet:1.5", "flowlet:16777216", "flowlet:500-x4"):
        with pytest.raises(ValueError, match="there is no scheme"):
            scheme(wrong)


def test_sub_flows_are_spelled_behind_the_scheme():
    found = scheme("hedera-clos-x16")
    assert (found.name, found.subflows) == ("hedera-clos-x16", 16)
    assert type(found.placement(FatTree(4), 1)).__name__ == "ClosColouring"
    for wrong in ("ecmp-x1", "ecmp-x65", "nonblocking-x4", "spray-x4"):
        with pytest.raises(ValueError, match="from 2 to 64 sub-flows"):
            scheme(wrong)
    with pytest.raises(ValueError, match="no scheme 'edmp-x4'"):
        scheme("edmp-x4")


def test_names_alone_cost_no_heavy_import():
    code = "import sys, hedera.schemes; print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
