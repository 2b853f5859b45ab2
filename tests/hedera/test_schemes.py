from __future__ import annotations

import subprocess
import sys

import pytest

from hedera.schemes import SCHEMES, best_first, label, scheme
from topos.fattree import FatTree


def test_names_and_order() -> None:
    expected = (
        "nonblocking ecmp ecmp-dst spanning-tree ecmp-edge-pair random hedera-gff hedera-sa hedera-clos "
        "hedera-flow-sa"
    )
    assert " ".join(SCHEMES) == expected
    assert all(name == SCHEMES[name].name for name in SCHEMES)


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
    }
    assert [name for name, s in SCHEMES.items() if s.nonblocking] == ["nonblocking"]


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="no scheme 'edmp'; the schemes are nonblocking, ecmp"):
        scheme("edmp")


def test_names_alone_cost_no_heavy_import() -> None:
    code = "import sys, hedera.schemes; print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_scheme_says_how_it_is_shown_and_what_it_is_held_against() -> None:
    assert best_first() == [
        "nonblocking",
        "hedera-sa",
        "hedera-gff",
        "ecmp",
        "ecmp-dst",
        "ecmp-edge-pair",
        "random",
        "spanning-tree",
    ]
    assert label("hedera-gff") == "Global First Fit"
    assert label("mine.py:Mine") == "mine.py:Mine"
    assert [name for name, one in SCHEMES.items() if one.column and not one.simulated] == [
        "ecmp-dst",
        "spanning-tree",
        "ecmp-edge-pair",
    ]
