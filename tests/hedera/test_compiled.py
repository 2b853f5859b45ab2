"""Machine code is loaded when it is of these sources and nobody else's to write, and is compiled anew otherwise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CALL = "import numpy as np; from hedera.draws import below; print(below(1000, np.uint64(1 << 63)))"
WORD = "compiling the inner loops"


@pytest.fixture
def copy(tmp_path):
    for package in ("topos", "hedera"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(copy, cache="cache"):
    """What a process prints that calls a compiled function, and what it says."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(copy / cache)}
    ran = subprocess.run([sys.executable, "-B", "-c", CALL], cwd=copy, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip(), ran.stderr


def code(copy):
    return {path: path.stat().st_mtime_ns for path in (copy / "cache").rglob("*.nb?")}


def test_a_second_process_loads_what_the_first_compiled_and_other_sources_are_compiled_anew(copy):
    answer, said = run(copy)
    assert (answer, WORD in said) == ("500", True)
    kept = code(copy)
    assert kept
    assert run(copy) == ("500", "")
    assert code(copy) == kept
    source = copy / "hedera" / "draws.py"
    source.write_text(source.read_text().replace("* np.uint64(bound))", "* np.uint64(bound + 1000))"))
    answer, said = run(copy)
    assert (answer, WORD in said) == ("1000", True)
    assert len(list((copy / "cache").iterdir())) == 2


def test_code_that_others_can_write_is_not_loaded(copy):
    assert run(copy)[0] == "500"
    kept = code(copy)
    for path in kept:
        path.write_bytes(b"not machine code")  # whoever loads it fails
    (copy / "cache").chmod(0o777)
    answer, said = run(copy)
    assert (answer, "at every start" in said) == ("500", True)


def test_without_a_place_to_keep_it_code_is_compiled_at_every_start(copy):
    (copy / "cache").write_text("no folder")
    assert run(copy)[0] == "500"
