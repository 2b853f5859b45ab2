"""Real sweeps that are killed at every stage, and a disk that is full."""

import hashlib
import re
import subprocess
import threading
import time

import pytest

from harness.network.processes import run
from harness.run.spec import RunSpec
from harness.sweep.plan import Job
from tests.harness.real_runs import HEDERA, LONG, hedera_run, stop_at

pytestmark = [pytest.mark.root, pytest.mark.alone]

SCHEMES = "nonblocking,ecmp"


def sweep(results):
    command = [HEDERA, "sweep", 1, 6, "--patterns", "stride:4", "--schemes", SCHEMES, "--bw", 2]
    return list(map(str, [*command, "--results", results, "--name", "s"]))


def published(results):
    """Every file of every finished run, by what is in it."""
    files = (f for run in results.glob("s/*/*/trial-*") for f in run.iterdir())
    return {str(f.relative_to(results)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def outcomes(results):
    """Of each run the try that counts: verdict, matrix and the path of every flow."""
    found = {}
    for folder in sorted(results.glob("s/*/*/trial-?")):
        run = Job(RunSpec("ecmp", "stride:1"), folder).outcome().run
        paths = sorted((f.src, f.src_port, *(p.core for p in f.paths)) for f in run.flows)
        found[str(folder.relative_to(results))] = (run.verdict, run.matrix, paths)
    return found


def table(results):
    """The final table: its words without numbers, and its numbers."""
    text = (results / "s" / "figures" / "summary.md").read_text()
    return re.sub(r"[\d.]+", "#", text), [float(n) for n in re.findall(r"\d+\.\d+|\d+", text)]


STAGES = [
    "building",
    "sending",
    "judging",
    "publishing",
    "ecmp trial 1: building",
    "ecmp trial 1: publishing",
]
"""Each kill of the six; the second run is met once the first has been let through."""


@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=LONG)])
def test_a_sweep_killed_at_every_stage_ends_as_one_that_was_not(tmp_path, clean, rounds):
    subprocess.run(sweep(tmp_path / "whole"), capture_output=True, check=True)
    results = tmp_path / "killed"
    results.mkdir()
    before = {}
    for stage in STAGES * rounds:
        process = subprocess.Popen(sweep(results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if stop_at(process, stage):
            process.kill()
        process.wait()
        after = published(results)
        assert after.items() >= before.items(), "a finished result was touched"
        before = after
    assert before, "the first run was let through"
    subprocess.run(sweep(results), capture_output=True, check=True)
    assert published(results).items() >= before.items()
    assert outcomes(results) == outcomes(tmp_path / "whole")
    assert not list(results.glob("s/**/.*partial"))
    words, numbers = table(results)
    expected_words, expected = table(tmp_path / "whole")
    assert words == expected_words
    assert numbers == pytest.approx(expected, rel=0.1, abs=3)
    assert subprocess.run([HEDERA, "clean"], capture_output=True, text=True, check=True).stdout.startswith(
        "nothing to remove"
    )


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 40 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(disk)])
    yield disk
    run(["umount", str(disk)])


def test_a_disk_that_fills_up_during_a_run(tmp_path, small_disk, clean, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert hedera_run(small_disk / "first", seconds=6).returncode == 0
    first = (small_disk / "first" / "run.json").read_bytes()

    def fill():
        time.sleep(3)
        with (small_disk / "filler").open("wb") as filler:
            try:
                while True:
                    filler.write(bytes(1 << 20))
            except OSError:
                pass

    filling = threading.Thread(target=fill)
    filling.start()
    done = hedera_run(small_disk / "second", seconds=4)
    filling.join()
    assert done.returncode == 1
    (kept,) = tmp_path.glob("hedera-unpublished-*/second")
    assert f"is full: this finished run is kept as {kept}; with 32 MiB free" in done.stderr
    assert (kept / "run.json").exists()
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in small_disk.iterdir()) == ["filler", "first"]
    assert (small_disk / "first" / "run.json").read_bytes() == first
    assert "is full" in hedera_run(small_disk / "second", seconds=4).stderr
    (small_disk / "filler").unlink()
    assert hedera_run(small_disk / "second", seconds=6).returncode == 0  # paths of 3 s can be in doubt
