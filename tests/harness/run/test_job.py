"""A job is all that is needed: its spec and the contents of the user's files; whoever has it reads no other."""

import subprocess
import sys

import pytest

from harness.run.job import MAX_JOB_BYTES, Job, decode_job, make_job
from record.errors import UserMistake
from record.spec import RunSpec
from tests.harness.jobs.made import SPEC
from tests.topos.test_own import GOOD
from traffic import user_files

SCHEDULER = """
from pathlib import Path
import os
Path({marker!r}).write_text(str(os.geteuid()))
class Mine:
    def __init__(self, tree, rng, options): pass
    def place(self, flows): return []
"""


@pytest.fixture(autouse=True)
def believing(monkeypatch):
    """Reading a job makes a process believe its files alone; the tests' own process does so for one test."""
    before = dict(user_files.job_files)
    monkeypatch.setattr(user_files, "_only_job_files", False)
    yield
    user_files.job_files.clear()
    user_files.job_files.update(before)


@pytest.fixture
def matrix(tmp_path):
    matrix = tmp_path / "m.csv"
    matrix.write_text("src_host,dst_host\n0,5\n")
    return matrix


def test_a_job_survives_the_way_there_and_its_files_are_read_and_not_those_on_the_disk(matrix):
    job = make_job(RunSpec("hedera-sa", f"file:{matrix}", seconds=6, time="virtual", fail=("switch:4_1_1@2",)))
    assert decode_job(job.encoded()) == job
    assert job.files == {str(matrix): "src_host,dst_host\n0,5\n"}
    assert "auto" not in (job.spec.time, job.spec.platform, job.spec.new_flows)
    matrix.unlink()
    assert job.spec.workload().standing.dst.tolist() == [5]


def test_a_run_is_judged_by_the_files_that_it_was_made_of(matrix):
    job = make_job(RunSpec("ecmp", f"file:{matrix}", seconds=6, time="virtual"))
    matrix.write_text("src_host,dst_host\n0,6\n")
    with job.files_in_place():
        assert job.spec.workload().standing.dst.tolist() == [5]
    assert job.spec.workload().standing.dst.tolist() == [6]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[1]", b"{}\n", b'{}\n{"scheme": "ecmp"}', b"{}\n7", b"[" * 100_000),
        b"7\n" + Job(SPEC, {}).encoded(),
        Job(SPEC, {}).encoded().replace(b'"k":4', b'"k":5'),
    ],
)
def test_what_is_no_job_or_makes_no_sense_is_refused(data):
    with pytest.raises(UserMistake):
        decode_job(data)


def find_memory_mib(traffic, **fields):
    return Job(RunSpec("nonblocking", traffic, time="virtual", link_mbps=10.0, **fields), {}).needs.memory_mib


def test_flows_that_come_and_stay_take_memory():
    """1,024 hosts at a load of 1, as in Figure 11, ran out of what they had by their number alone."""
    lasting, coming = (
        find_memory_mib(text, k=16) for text in ("randbij", "poisson:exponential:1250000000,1 to randbij")
    )
    # Some 6,000 flows, of which nine in ten take a second or more.
    assert 9000 < coming - lasting < 13000
    assert find_memory_mib("poisson:web-search,0.5 to randbij", k=8, seconds=10) == find_memory_mib("randbij", k=8)


def test_a_job_is_bounded_at_both_ends():
    big = Job(SPEC, {"m.csv": "x" * MAX_JOB_BYTES})
    with pytest.raises(UserMistake, match="64 MiB"):
        big.encoded()
    with pytest.raises(UserMistake, match="too large"):
        decode_job(b" " * (MAX_JOB_BYTES + 1))


CARRIED_OUT = """
import sys
from record.errors import UserMistake
from harness.run.job import decode_job
try:
    job = decode_job(sys.stdin.buffer.read())
    print(job.spec.workload().standing.dst.tolist(), job.spec.chosen.name)
except UserMistake as error:
    print(error)
"""


def carried_out(job):
    done = subprocess.run([sys.executable, "-c", CARRIED_OUT], input=job.encoded(), capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("source", "field", "name", "said"),
    [
        (SCHEDULER, "scheme", "{file}:Mine", "{file}:Mine\n"),
        (GOOD + "open({marker!r}, 'w').close()\n", "topology", "{file}:Net", "[1, 0]"),
        ("def f(tree, rng):\n    open({marker!r}, 'w').close()\n    return [(0, 3)]\n", "traffic", "{file}:f", "[3]"),
    ],
    ids=["scheduler", "network", "pattern"],
)
def test_whoever_carries_a_job_out_runs_no_code_of_the_user_s(tmp_path, source, field, name, said):
    file, marker = tmp_path / "mine.py", tmp_path / "marker"
    file.write_text(source.replace("{marker!r}", repr(str(marker))))
    asked = {"scheme": "ecmp", "traffic": "stride:1", field: name.format(file=file)}
    job = make_job(RunSpec(**asked, seconds=6, time="virtual"))
    assert marker.exists(), "the user's own process runs it"
    marker.unlink()
    assert said.format(file=file) in carried_out(job)
    if field == "scheme":
        assert job.files[str(file)] == file.read_text()
    else:
        assert "does not run" in carried_out(Job(job.spec, {}))
    assert not marker.exists()


def test_it_checks_the_rows_of_a_network(tmp_path):
    (tmp_path / "mine.py").write_text(GOOD)
    name = f"{tmp_path}/mine.py:Net"
    job = make_job(RunSpec("ecmp", "stride:1", seconds=6, time="virtual", topology=name))
    rows = job.files[name].replace('"c"', '"; reboot"')
    for wrong, words in ((rows, "'; reboot'"), ("[]", "Expected `object`, got `array`")):
        assert words in carried_out(Job(job.spec, {name: wrong}))


def test_it_reads_no_file_that_did_not_come_along(matrix):
    stolen = carried_out(Job(RunSpec("ecmp", f"file:{matrix}", seconds=6, time="virtual"), {}))
    assert "did not come with the job" in stolen
    assert "0,5" not in stolen
