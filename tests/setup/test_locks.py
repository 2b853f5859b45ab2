"""What is declared, what is locked, and what the code imports."""

import ast
import json
import re
import sys
from importlib.metadata import metadata, packages_distributions, requires, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = tuple(sorted(p.parent.name for p in ROOT.glob("*/__init__.py") if p.parent.name != "tests"))
FOUND_AT_RUN_TIME = {
    "_typeshed",  # known to type checkers alone
    "mininet",  # a Debian package
    "seccomp",  # another, for grading alone
    "pox",  # a checkout
}


def pins(name):
    """The versions of every package in a lock (several where Pythons differ); every pin has to carry hashes."""
    found = {}
    for entry in re.split(r"\n(?=[a-z0-9])", (ROOT / "setup" / name).read_text()):
        pin = re.match(r"([a-z0-9.-]+)==([^ ;]+)[^\\]*\\\n +--hash=sha256:[0-9a-f]{64}", entry)
        assert pin, f"not an exact pin with hashes: {entry.splitlines()[0]}"
        found.setdefault(pin[1], set()).add(pin[2])
    return found


def declared(extra=None):
    """The names that the project declares, always or with an extra."""
    names = set()
    for line in requires("hedera-harness"):
        condition = re.search(r"extra == ['\"](\w+)", line)
        if (condition and condition[1]) == extra:
            names.add(re.match(r"[\w.-]+", line)[0].lower())
    return names


def imported(package):
    """The modules from elsewhere that a package imports, at any depth of its code."""
    names = set()
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - set(PACKAGES)


def test_what_test_sh_installs_is_a_part_of_what_the_checks_do_in_the_same_versions():
    run, check = pins("requirements.lock"), pins("requirements-check.lock")
    assert set(run) < set(check)
    assert {name: check[name] for name in run} == run


def test_what_a_cluster_needs_is_a_part_of_what_the_checks_do_in_the_same_versions():
    run, cluster, check = (pins(f"requirements{which}.lock") for which in ("", "-cluster", "-check"))
    assert set(run) < set(cluster) < set(check)
    assert {name: check[name] for name in cluster} == cluster


def test_what_measuring_needs_comes_to_what_the_checks_do_in_the_same_versions():
    check, measure = pins("requirements-check.lock"), pins("requirements-measure.lock")
    assert set(check) < set(measure)
    assert {name: measure[name] for name in check} == check
    assert declared("measure") <= set(measure)
    assert not declared("measure") & set(check)


def test_everything_declared_is_locked_and_what_only_checks_need_is_not_installed_for_runs():
    run, cluster, check = (set(pins(f"requirements{which}.lock")) for which in ("", "-cluster", "-check"))
    assert declared() | declared("build") <= run
    assert declared("cluster") <= cluster
    of_3_11 = declared("site") if sys.version_info >= (3, 11) else set()
    assert declared("test") | declared("cluster") | of_3_11 <= check
    assert not of_3_11 & cluster
    of_others = {"cryptography"}  # packages that clusters need bring it
    assert not (declared("test") | declared("cluster")) - of_others & run
    assert not declared("test") - of_others & cluster


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_imported_is_declared(package):
    extras = declared("cluster")
    if package == "benchmarks":
        extras |= declared("test") | declared("measure") | {"tests"}  # whose made submissions it grades
    of = packages_distributions()
    for module in imported(package) - FOUND_AT_RUN_TIME:
        names = {name.lower().replace("_", "-") for name in of.get(module, [module])}
        assert names & (declared() | extras), f"{package} imports {module}"


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {version('hedera-harness')}\n" in text
    assert f"license: {metadata('hedera-harness')['License-Expression']}\n" in text
    archived = json.loads((ROOT / ".zenodo.json").read_text())
    assert (archived["version"], archived["license"]) == (version("hedera-harness"), "Apache-2.0")
    assert archived["title"] in text
    assert (ROOT / "LICENSE").read_text().split()[:4] == ["Apache", "License", "Version", "2.0,"]


def test_every_locked_package_has_a_line_with_its_licence():
    told = set(re.findall(r"(?m)^\| ([a-z0-9.-]+) \| \w[^|]+ \|", (ROOT / "docs/licences.md").read_text()))
    assert set(pins("requirements-check.lock")) <= told
