"""Which runs of a sweep share a guest that waits, and how long it waits."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from harness.jobs.guests import MEMORY_SHARE, Originals
from harness.run.job import make_job
from record.errors import WorkerFailed
from record.spec import RunSpec
from tests.commands import PATIENCE_S
from virtual import limits

SPEC = RunSpec("ecmp", "stride:4", seconds=6, time="virtual", platform="os-ken")
JOBS = [make_job(replace(SPEC, traffic=traffic)) for traffic in ("stride:4", "stride:1", "randbij")]
OTHER = make_job(replace(SPEC, scheme="hedera-gff"))


class Waiting:
    def __init__(self):
        self.ready, self.closed = True, False

    def close(self):
        self.closed = True


def test_jobs_that_differ_in_lasting_traffic_alone_have_one_network():
    assert len({job.network_only_job.encoded() for job in JOBS}) == 1
    differ = [{"scheme": "hedera-sa"}, {"seed": 2}, {"link_mbps": 100}, {"seconds": 7}, {"k": 6}, {"queue": 60}]
    networks = {make_job(replace(SPEC, **change)).network_only_job.encoded() for change in ({}, *differ)}
    assert len(networks) == 1 + len(differ)


@pytest.mark.parametrize("change", [{"traffic": "poisson:fixed:10000,0.05"}, {"k": 10}])
def test_a_network_that_depends_on_the_traffic_is_the_job_s_own(change):
    job = make_job(replace(SPEC, **change))
    assert job.network_only_job is job


def test_the_files_of_a_network_are_the_scheme_s_and_not_the_traffic_s(tmp_path):
    scheme, flows = tmp_path / "mine.py", tmp_path / "flows.json"
    scheme.write_text("class Mine:\n    def __init__(self, *_): pass\n    def place(self, flows): return {}\n")
    flows.write_text('{"0": [1]}')
    job = make_job(replace(SPEC, scheme=f"{scheme}:Mine", traffic=f"file:{flows}"))
    scheme.unlink()
    assert set(job.network_only_job.files) == {name for name in job.files if str(scheme) in name}


def test_the_first_of_several_boots_one_and_the_last_one_ends_it():
    originals, booted = Originals(), []

    def boot():
        booted.append(Waiting())
        return booted[-1]

    with originals.prepared_for([*JOBS, OTHER]):
        for job in JOBS[:2]:
            with originals.of(job, boot) as original:
                assert original is booted[0]
            assert not original.closed
        with originals.of(OTHER, boot) as none:
            assert none is None, "it would be the only one"
        with originals.of(JOBS[2], boot) as original:
            assert not original.closed
        assert original.closed
        with originals.of(JOBS[2], boot) as again:
            assert again is None
    assert len(booted) == 1


def test_a_job_that_nothing_was_prepared_for_has_a_guest_of_its_own():
    with Originals().of(JOBS[0], Waiting) as original:
        assert original is None


def test_what_waits_ends_with_the_jobs_however_few_were_carried_out():
    originals = Originals()
    with originals.prepared_for(JOBS), originals.of(JOBS[0], Waiting) as original:
        assert not original.closed
    assert original.closed


def test_one_that_fails_or_has_ended_is_none_and_is_not_booted_again():
    originals, tries = Originals(), []

    def fails():
        tries.append(1)
        raise WorkerFailed("no memory")

    with originals.prepared_for(JOBS):
        for job in JOBS:
            with originals.of(job, fails) as original:
                assert original is None
    assert len(tries) == 1
    with originals.prepared_for(JOBS), originals.of(JOBS[0], Waiting) as original:
        original.ready = False
        with originals.of(JOBS[1], fails) as ended:
            assert ended is None


def test_two_at_once_boot_one_and_ctrl_c_lets_the_other_go_on():
    originals, begun = Originals(), threading.Event()

    def interrupted():
        begun.set()
        raise KeyboardInterrupt

    def second():
        begun.wait(PATIENCE_S)
        with originals.of(JOBS[1], pytest.fail) as original:
            return original

    with originals.prepared_for(JOBS), ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        with pytest.raises(KeyboardInterrupt), originals.of(JOBS[0], interrupted):
            pass
        assert other.result(PATIENCE_S) is None


def test_they_take_a_part_of_the_memory_at_most(monkeypatch):
    monkeypatch.setattr(limits, "measure_memory_mib", lambda: MEMORY_SHARE * JOBS[0].needs.memory_mib // 2)
    others = [make_job(replace(SPEC, scheme="hedera-gff", traffic=job.spec.traffic)) for job in JOBS]
    originals = Originals()
    with (
        originals.prepared_for([*JOBS, *others]),
        originals.of(JOBS[0], Waiting) as one,
        originals.of(others[0], Waiting) as no,
    ):
        assert one is not None
        assert no is None
