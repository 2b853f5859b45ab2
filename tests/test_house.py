"""The house stands as it is described: imports point one way, without circles, and values stay what they are."""

import ast
import re

import networkx as nx
import pytest

from tests.commands import PROJECT

GROUND = "topos traffic hedera record"
ROOMS = {
    "topos": "",
    "traffic": "topos",
    "hedera": "topos traffic",
    "record": "topos traffic hedera",
    "simulator": f"{GROUND} plots",
    "controllers": GROUND,
    "plots": GROUND,
    "virtual": "record",
    "classroom": f"{GROUND} simulator",
    "harness": f"{GROUND} controllers plots virtual simulator",
    "studies": f"{GROUND} simulator plots virtual harness",
    "benchmarks": f"{GROUND} simulator controllers plots virtual studies classroom harness",
}
"""What each room may import, besides itself."""
STOREYS = ("network", "hosts", "run", "verdict", "jobs", "sweep", "cli")
"""Of harness: each stands on those before it."""


def modules():
    for room in ROOMS:
        for path in sorted((PROJECT / room).rglob("*.py")):
            if "runs" not in path.parts:
                yield ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"), path


MODULES = dict(modules())


def needs(module):
    """The modules of ours that a module imports anywhere in it, be it inside a function or for types alone."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {node.module}
    return (found & MODULES.keys()) - {module}


GRAPH = nx.DiGraph((module, other) for module in MODULES for other in needs(module))


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room):
    allowed = {room, *ROOMS[room].split()}
    assert [(a, b) for a, b in GRAPH.edges if a.split(".")[0] == room and b.split(".")[0] not in allowed] == []


def test_each_storey_of_the_harness_stands_on_those_below():
    def storey(module):
        name = f"{module}.".split(".")[1] if module.startswith("harness.") else ""
        return STOREYS.index(name) if name in STOREYS else None

    known = [(a, b, storey(a), storey(b)) for a, b in GRAPH.edges]
    assert [(a, b) for a, b, of_a, of_b in known if None not in (of_a, of_b) and of_b > of_a] == []


def test_there_is_no_circle():
    assert [sorted(part) for part in nx.strongly_connected_components(GRAPH) if len(part) > 1] == []


WRITING = re.compile(
    r"\.(write_text|write_bytes|mkdir|rename|touch|symlink_to|savefig|hardlink_to)\(|\bshutil\.(copy(?!fileobj)|move)"
    r"|\bos\.(replace|rename|mkdir|makedirs|symlink|link)\(|\b(os\.)?open\((?!os\.open)[^)]*(\"[rb]*[wxa+]|O_CREAT|_NEW)"
)
PRIVATE = {
    "record.files": "the one way to write to a place that the user names",
    "virtual.results": "beside a folder that it has opened, by a function of the caller's",
    "plots.printable_figure": "into memory",
    "plots.summary": "columns of a table",
    "studies.study": "columns of a table",
    "controllers.driver": "in a run's own folder",
    "hedera.compiled": "a cache of the user's own, private to them",
    **dict.fromkeys(("virtual.cache", "virtual.guest", "virtual.apt", "virtual.kernel"), "below the user's own cache"),
    **dict.fromkeys(("studies.hull.packets", "harness.jobs.guest_files"), "the same"),
    **dict.fromkeys(
        ("studies.hifi.lab", "studies.hull.lab", "harness.jobs.guests", "classroom.submission"),
        "in a temporary folder that is private",
    ),
    **dict.fromkeys(("harness.network", "harness.run", "harness.root"), "below /run/hedera, or in a guest"),
    "harness.verdict.result": "a traceback, in a run's folder that is not stored yet",
    "harness.jobs.carry_out": "a run's folder, of names of its own, in one that `record.files` has made",
    "studies.paper.tables": "/proc/self",
}
"""Modules, and rooms, that write in another way, and to what."""


def test_what_the_user_names_is_written_in_one_way():
    """A link of another user's on the way is not followed (`record.files`)."""
    found = {module for module, path in MODULES.items() if WRITING.search(path.read_text(encoding="utf-8"))}
    private = {module for module in found for part in PRIVATE if f"{module}.".startswith(f"{part}.")}
    assert found - private == set()
    assert {part for part in PRIVATE if not any(f"{module}.".startswith(f"{part}.") for module in found)} == set()


SHORT = re.compile(r"(\btimeout=|\bwait_until\(.*, |\bwait_for\(.*, |\.wait\()[0-9.]+(?=[,)])")


def test_no_test_has_a_deadline_of_its_own():
    """`tests.commands.PATIENCE_S` is for all that is waited for: a busy machine is ten times slower than ours."""
    own = [
        f"{path.relative_to(PROJECT)}: {found[0]}"
        for path in (PROJECT / "tests").rglob("*.py")
        for found in SHORT.finditer(path.read_text(encoding="utf-8"))
        # In code of theirs, and a step of a fake clock.
        if path.name not in ("test_submissions.py", "test_states.py") and "0." not in found[0]
    ]
    assert own == []
