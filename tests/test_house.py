"""The house stands as it is described: imports point one way, without circles, and values stay what they are."""

import ast
from pathlib import Path

import networkx as nx
import pytest

from files.imports import imported

ROOT = Path(__file__).parents[1]
BELOW = {
    "files": "",
    "results": "topos hedera",
    "topos": "",
    "traffic": "topos",
    "transfers": "",
    "hedera": "topos traffic",
    "controllers": "topos traffic hedera",
    "simulator": "topos traffic hedera results",
    "packets": "topos traffic hedera plots results",
    "plots": "topos traffic hedera results",
    "virtual": "",
    "paper": "topos traffic hedera simulator plots results",
    "classroom": "topos traffic hedera simulator plots results",
    "harness": "topos traffic transfers hedera controllers packets plots results classroom virtual",
    "hifi": "topos hedera harness plots results virtual",
    "benchmarks": "topos traffic transfers hedera controllers simulator packets plots results paper "
    "harness virtual classroom",
}
"""What each package may import, besides itself and `files`, on which all stand."""
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in BELOW
    for path in sorted((ROOT / package).rglob("*.py"))
    if package != "results" or "runs" not in path.parts
}


def needs(module):
    """The modules of ours that a module imports anywhere in it, be it inside a function or for types alone."""
    named = {name for name in imported(MODULES[module].read_bytes()) if name in MODULES}
    return named - {other.rpartition(".")[0] for other in named}  # a package is there for what is taken from it


GRAPH = nx.DiGraph((module, other) for module in MODULES for other in needs(module) if other != module)


def test_the_walk_sees_imports():
    assert {"topos.links", "hedera.linkstate"} <= set(GRAPH["hedera.global_first_fit"])
    assert "hedera.simulated_annealing" in GRAPH["hedera.schemes"], "inside a function"


@pytest.mark.parametrize("package", BELOW)
def test_imports_point_one_way(package):
    allowed = {package, "files", *BELOW[package].split()}
    up = [f"{a} imports {b}" for a, b in GRAPH.edges if a.split(".")[0] == package and b.split(".")[0] not in allowed]
    assert not up


def test_there_is_no_circle():
    assert [sorted(part) for part in nx.strongly_connected_components(GRAPH) if len(part) > 1] == []


@pytest.mark.parametrize("package", ["topos", "traffic", "hedera", "simulator", "harness.judge"])
def test_values_do_not_change_once_they_are_made(package):
    made = [
        (module, node.name, ast.unparse(decorator))
        for module, path in MODULES.items()
        if f"{module}.".startswith(f"{package}.")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if "dataclass" in ast.unparse(decorator)
    ]
    assert made
    assert [one for one in made if "frozen=True" not in one[2]] == []
