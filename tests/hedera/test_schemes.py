from __future__ import annotations

import subprocess
import sys

import pytest

from hedera.schemes import SCHEMES, scheme
from topos.fattree import FatTree


def test_what_each_scheme_is_made_of() -> None:
    built = {name: (s.routing(FatTree(4), 1), s.placement(FatTree(4), 1)) for name, s in SCHEMES.items()}
    assert {name: tuple(type(part).__name__ for part in parts) for name, parts in built.items()} == {
        "nonblocking": ("NoneType", "NoneType"),
        "ecmp": ("Ecmp", "NoneType"),
        "ecmp-dst": ("EcmpDestination", "NoneType"),
        "spanning-tree": ("SpanningTree", "NoneType"),
        "ecmp-edge-pair": ("EdgePairHash", "NoneType"),
        "random": ("RandomPath", "NoneType"),
        "hedera-gff": ("Ecmp", "GlobalFirstFit"),
        "hedera-sa": ("Ecmp", "SimulatedAnnealing"),
        "hedera-flow-sa": ("Ecmp", "FlowAnnealing"),
        "hedera-clos": ("Ecmp", "ClosColouring"),
        "spray": ("Ecmp", "NoneType"),
        "planned": ("Ecmp", "NoneType"),
    }
    assert [name for name, s in SCHEMES.items() if s.nonblocking] == ["nonblocking"]


def test_what_the_emulation_does_not_have_is_refused() -> None:
    from hedera.experiment import Experiment

    assert [name for name, one in SCHEMES.items() if not one.emulated] == ["spray", "planned"]
    for name in ("spray", "planned"):
        with pytest.raises(ValueError, match=f"scheme '{name}' is for the simulator only"):
            Experiment(name, "stride:4")


def test_sub_flows_are_spelled_behind_the_scheme() -> None:
    found = scheme("hedera-clos-x16")
    assert (found.name, found.subflows, found.label) == ("hedera-clos-x16", 16, "edge colouring, 16 sub-flows")
    assert type(found.placement(FatTree(4), 1)).__name__ == "ClosColouring"
    for wrong in ("ecmp-x1", "ecmp-x65", "nonblocking-x4", "spray-x4"):
        with pytest.raises(ValueError, match="from 2 to 64 sub-flows"):
            scheme(wrong)
    with pytest.raises(ValueError, match="no scheme 'edmp-x4'"):
        scheme("edmp-x4")


def test_names_alone_cost_no_heavy_import() -> None:
    code = "import sys, hedera.schemes; print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
