"""Machine code is loaded when it is of these sources and nobody else's to write, and is compiled anew otherwise."""

import itertools
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from hedera.compiled import KEPT_S, draw_below, draw_two_below, find_code_folder
from tests.commands import PROJECT

CALL = "import numpy as np; from hedera.compiled import draw_below; print(draw_below(1000, np.uint64(1 << 63)))"
WORD = "compiling the inner loops"


@pytest.fixture
def copy(tmp_path):
    for package in ("topos", "hedera"):
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(copy, cache="cache"):
    """What a process prints that calls a compiled function, and what it says."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(copy / cache), "NUMBA_NUM_THREADS": "-1"}
    ran = subprocess.run([sys.executable, "-B", "-c", CALL], cwd=copy, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip(), ran.stderr


def code(copy):
    return {path: path.stat().st_mtime_ns for path in (copy / "cache").rglob("*.nb?")}


@pytest.mark.slow
def test_a_second_process_loads_what_the_first_compiled_and_other_sources_are_compiled_anew(copy):
    answer, said = run(copy)
    assert (answer, WORD in said) == ("500", True)
    kept = code(copy)
    assert kept
    assert run(copy) == ("500", "")
    assert code(copy) == kept
    source = copy / "hedera" / "compiled.py"
    source.write_text(source.read_text().replace("* np.uint64(bound))", "* np.uint64(bound + 1000))"))
    answer, said = run(copy)
    assert (answer, WORD in said) == ("1000", True)
    moved = copy.rename(copy.with_name("moved"))  # Numba takes no code of another place: it is not there yet
    assert WORD in run(moved)[1]
    assert len(list((moved / "cache").iterdir())) == 3


@pytest.mark.slow
def test_code_that_others_can_write_is_not_loaded(copy):
    assert run(copy)[0] == "500"
    for path in code(copy):
        path.write_bytes(b"not machine code")  # whoever loads it fails
    (copy / "cache").chmod(0o777)
    answer, said = run(copy)
    assert (answer, "at every start" in said) == ("500", True)


@pytest.mark.parametrize("bound", [1, 2, 3, 1000])
def test_each_number_below_a_bound_has_its_share_of_the_bits(bound):
    for number in range(bound):  # the first and the last of the bits that make it
        first, end = (-(-n * 2**32 // bound) << 32 for n in (number, number + 1))
        assert draw_below(bound, np.uint64(first)) == draw_below(bound, np.uint64(end - 1)) == number


@pytest.mark.parametrize("bound", [2, 3, 7])
def test_two_different_numbers_are_every_ordered_pair_once(bound):
    def middles(of: int) -> list[np.uint64]:
        return [np.uint64((2 * n + 1) * 2**63 // of) for n in range(of)]

    pairs = [draw_two_below(bound, a, b) for a, b in itertools.product(middles(bound), middles(bound - 1))]
    assert sorted(pairs) == [pair for pair in itertools.product(range(bound), repeat=2) if pair[0] != pair[1]]


def test_what_a_sweep_may_go_on_with_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for n in range(20):
        (tmp_path / str(n)).mkdir()
        os.utime(tmp_path / str(n), (0, time.time() - n * KEPT_S / 10 - 60))
    assert find_code_folder.__wrapped__().parent == tmp_path
    assert {path.name for path in tmp_path.iterdir() if len(path.name) < 3} == set(map(str, range(10)))
