"""`pip install .` gives a package that works anywhere and for any user, with nothing of ours beside the code."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pytest

from tests.commands import PATIENCE_S, PROJECT, USER, of_user, open_folder, ran

pytestmark = pytest.mark.slow  # all of them make a wheel, or a whole environment with it
NOT_CODE = (".*", "tests", "docs", "runs", "__pycache__", "*.egg-info", "build")


@pytest.fixture(scope="module")
def place():
    with open_folder("wheel") as place:
        yield place


@pytest.fixture(scope="module")
def wheel(place):
    """The wheel of this clone, in which somebody has run sweeps."""
    clone = place / "clone"
    shutil.copytree(PROJECT, clone, ignore=shutil.ignore_patterns(*NOT_CODE))
    for name in ("runs/mine", "simulated"):
        (clone / "results" / name).mkdir(parents=True, exist_ok=True)
        (clone / "results" / name / "summary.csv").write_text("mine\n")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", place, "."], cwd=clone, check=True)
    return next(place.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel):
    """The folder of commands of a new environment with that wheel; its dependencies are those of this one."""
    environment = wheel.parent / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    packages = next(environment.glob("lib/python3*/site-packages"))
    for name in ("commands", "plots", "results"):  # a stranger's own, of the same names
        (packages / f"{name}.py").write_text(f"raise SystemExit('took {name} of another package')\n")
    for link in (["--link"], []):  # a grading's sandbox sees an environment, and not what its files of paths name
        copy = ["cp", "-a", "--no-clobber", *link, f"{Path(numba.__file__).parents[1]}/.", str(packages)]
        if ran(*copy, timeout=None).returncode == 0:
            break
    return environment / "bin"


@pytest.fixture(scope="module")
def elsewhere(installed):
    """The home of an ordinary user's, who keeps modules there that are called like ours and like the library's."""
    home = installed.parent / "home"
    home.mkdir()
    for name in ("controllers", "hedera", "results", "json", "click"):
        (home / f"{name}.py").write_text(f"raise SystemExit('took {name} from the current folder')\n")
    if os.geteuid() == 0:
        os.chown(home, USER, USER)
    return home


def hedera(installed, folder, *arguments):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(installed.parent / "home")}
    done = ran(installed / "hedera", *arguments, cwd=folder, env=environment, timeout=None, **of_user())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_has_the_code_and_its_data_and_nothing_that_was_run(wheel):
    whole = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in whole} == {"hedera_harness"}, "no other names"
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in whole)
    names = [name.partition("/")[2] for name in whole if name.startswith("hedera_harness/")]
    assert {"results/published/figure9_testbed.csv", "traffic/published.csv", "topos/py.typed"} <= set(names)
    assert any(name.startswith("plots/") and name.endswith("report.html") for name in names)
    of_results = {name.split("/")[1] for name in names if name.startswith("results/") and name.count("/") > 1}
    assert of_results == {"published"}, "not what was run"
    code = [folder for folder in PROJECT.glob("[a-z]*") if folder.name != "tests"]
    files = [file for folder in code for file in folder.glob("**/__init__.py")]
    expected = {file.relative_to(PROJECT).parent.as_posix() for file in files}
    assert {name.removesuffix("/__init__.py") for name in names if name.endswith("/__init__.py")} == expected
    patches = [path.relative_to(PROJECT / "virtual") for path in (PROJECT / "virtual/kernel/patches").rglob("*.patch")]
    assert patches
    assert {
        f"virtual/{name}" for name in ("kernel/linux.xz", "kernel/linux.json", "kernel/COPYING", "command.sh", *patches)
    } <= set(names)


def test_the_commands_work_from_any_folder(installed, elsewhere):
    assert "explain-ecmp" in hedera(installed, elsewhere, "--help")
    hedera(installed, elsewhere, "collective", "table", "--quick", "--out", "drawn")
    assert list(elsewhere.glob("drawn/*.png"))
    asked = ("simulate", "--scheme", "hedera-sa", "--traffic", "published:stride4", "--json")
    assert json.loads(hedera(installed, elsewhere, *asked))["bisection_mbps"] > 10_000


@pytest.mark.virtual
@pytest.mark.timeout(2 * PATIENCE_S)
def test_guests_and_grading_of_an_ordinary_user_s(installed, elsewhere):
    """In an environment that sees none of the system's packages, Mininet's neither."""
    assert "No module named 'mininet'" in ran(installed / "python", "-c", "import mininet").stderr
    assert hedera(installed, elsewhere, "guest", "--", "id", "-u") == "0\n"
    short = ("--bw", "2", "--seconds", "3", "--out", "run")
    assert ", ok\n" in hedera(installed, elsewhere, "run", "--scheme", "ecmp", "--traffic", "stride:4", *short)
    patterns = ("--patterns", "stride:4", "--schemes", "nonblocking,ecmp", "--bw", "2", "--name", "s")
    assert "stride:4" in hedera(installed, elsewhere, "sweep", "1", "3", *patterns)
    assert "report.html" in hedera(installed, elsewhere, "report", "results/runs/s")
    if "HEDERA_LONG" in os.environ:
        assert "demo-virtual" in hedera(installed, elsewhere, "demo")
    if shutil.which("bwrap") is None or importlib.util.find_spec("seccomp") is None:
        pytest.skip("no bubblewrap, or no python3-seccomp: grading was not tried")
    (elsewhere / "in").mkdir()
    (elsewhere / "in/scheduler.py").write_text("")
    assert "0.0 of 100" in hedera(installed, elsewhere, "grade", "in", "--seed", "7")
