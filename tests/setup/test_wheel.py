"""`pip install .` gives a package that works anywhere, with nothing of ours beside the code."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).parents[2]
NOT_CODE = (".*", "tests", "docs", "runs", "__pycache__", "*.egg-info", "build")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this clone, in which somebody has run sweeps."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "clone", ignore=shutil.ignore_patterns(*NOT_CODE))
    for name in ("runs/mine", "simulated"):
        (folder / "clone/results" / name).mkdir(parents=True, exist_ok=True)
        (folder / "clone/results" / name / "summary.csv").write_text("mine\n")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", folder, "."], cwd=folder / "clone", check=True)
    return next(folder.glob("*.whl"))


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
    (packages / "dependencies.pth").write_text(f"{Path(numba.__file__).parents[1]}\n")
    return environment / "bin"


@pytest.fixture
def elsewhere(tmp_path):
    """A folder where somebody keeps modules that are called like ours and like the library's."""
    for name in ("controllers", "hedera", "results", "json", "click"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('took {name} from the current folder')\n")
    return tmp_path


def hedera(installed, folder, *arguments):
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [installed / "hedera", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_a_wheel_has_the_code_and_its_data_and_nothing_that_was_run(wheel):
    whole = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in whole} == {"hedera_harness"}, "no other names"
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in whole)
    names = [name.partition("/")[2] for name in whole if name.startswith("hedera_harness/")]
    assert {"results/published/figure9_testbed.csv", "traffic/published.csv", "topos/py.typed"} <= set(names)
    assert any(name.startswith("plots/") and name.endswith("report.html") for name in names)
    of_results = {name.split("/")[1] for name in names if name.startswith("results/") and name.count("/") > 1}
    assert of_results == {"published"}, "not what was run"
    code = [folder for folder in ROOT.glob("[a-z]*") if folder.name != "tests"]
    files = [file for folder in code for file in folder.glob("**/__init__.py")]
    expected = {file.relative_to(ROOT).parent.as_posix() for file in files}
    assert {name.removesuffix("/__init__.py") for name in names if name.endswith("/__init__.py")} == expected
    assert {
        f"virtual/{name}" for name in ("kernel/linux.xz", "kernel/linux.json", "kernel/COPYING", "command.sh")
    } <= set(names)


def test_the_commands_work_from_any_folder(installed, elsewhere):
    done = hedera(installed, elsewhere, "--help")
    assert done.returncode == 0, done.stderr
    assert "explain-ecmp" in done.stdout
    done = hedera(installed, elsewhere, "collective", "figure", ROOT / "results/collectives/collectives.csv")
    assert done.returncode == 0, done.stderr
    assert (elsewhere / "collectives.png").exists()
    done = hedera(installed, elsewhere, "simulate", "--scheme", "hedera-sa", "--traffic", "published:stride4", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bisection_mbps"] > 10_000
