"""What is declared, what is locked, and what the code imports."""

import ast
import re
import sys
from importlib.metadata import metadata, packages_distributions, requires, version

import pytest

from record.output import read_csv
from tests.commands import PROJECT

PACKAGES = tuple(sorted(p.parent.name for p in PROJECT.glob("*/__init__.py") if p.parent.name != "tests"))
FOUND_AT_RUN_TIME = {
    "_typeshed",  # known to type checkers alone
    "IPython",  # the notebook that one stands in
    "mininet",  # a Debian package
    "seccomp",  # another, for grading alone
    "pox",  # a checkout
}


def pins(name):
    """The versions of every package in a lock (several where Pythons differ); every pin has to carry hashes."""
    found = {}
    for entry in re.split(r"\n(?=[a-z0-9])", (PROJECT / "setup" / name).read_text()):
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
    for file in (PROJECT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - set(PACKAGES)


def test_locks_agree_and_all_extras_hold_what_a_cluster_needs():
    run, check, cluster = (pins(f"requirements{which}.lock") for which in ("", "-check", "-cluster"))
    assert set(cluster) < set(check)
    assert {name: check[name] for name in cluster} == cluster
    both = set(run) & set(check)
    assert {name: check[name] for name in both} == {name: run[name] for name in both}


def test_everything_declared_is_locked_and_what_only_checks_need_is_not_installed_for_runs():
    run, check = set(pins("requirements.lock")), set(pins("requirements-check.lock"))
    assert declared() | declared("build") <= run
    assert declared("cluster") <= run | set(pins("requirements-cluster.lock"))
    assert declared("test") <= run | check
    assert not declared("test") & run


@pytest.fixture(scope="module")
def distributions():
    """The distributions of each module that is installed."""
    return packages_distributions()


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_imported_is_declared(package, distributions):
    extras = declared("cluster")
    if package == "benchmarks":
        extras |= declared("test") | {"tests"}  # whose made submissions it grades
    for module in imported(package) - FOUND_AT_RUN_TIME:
        names = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
        assert names & (declared() | extras), f"{package} imports {module}"


def test_the_citation_is_of_this_version():
    assert f"version: {version('hedera-harness')}\n" in (PROJECT / "CITATION.cff").read_text()
    assert {"Apache-2.0", "GPL-2.0-only"} <= set(metadata("hedera-harness")["License-Expression"].split())


def test_every_locked_package_has_a_line_with_its_licence():
    told = {row["package"] for row in read_csv(PROJECT / "setup/licences.csv") if row["licence"]}
    assert set(pins("requirements.lock")) | set(pins("requirements-check.lock")) <= told
