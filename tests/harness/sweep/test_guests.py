"""Runs in virtual time: what a guest is asked for, what is believed of it, and a run in a real one."""

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import pytest

from harness.errors import RunFailed, UnfitMachine, UserMistake, WorkerFailed
from harness.run.experiment import run_experiment
from harness.run.resolution import on_this_machine, resolve, time_of
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.plan import Job, keep_settings, plan, seconds_left
from harness.sweep.suites import TrafficSpec
from results import record
from virtual.errors import GuestFailed, Unavailable
from virtual.guest import Ended, Progress

SPEC = RunSpec("ecmp", "stride:4", seconds=5.0, time="virtual", platform="os-ken").for_its_traffic()
REAL = replace(SPEC, time="real", controller_delay_ms=None)
FACTS = Ended(0, 20.0, 9.0, True, "7.2", "seccomp", "", "")


class FakeKernel:
    linux = Path("/nowhere/linux")
    slow = None


GROUND = guests.Ground(FakeKernel(), (), guests.first_source(), "{}", Path("/nowhere/compiled"))


def a_run(spec):
    """What a guest would leave: a run that broke off, which is all that needs no network."""
    run = guests.failed_run(spec, "nothing was measured")
    environment = {"worker": guests.NAME, "source": GROUND.code.fingerprint}
    started = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return record.encode(msgspec.structs.replace(run, started=started, environment=environment))


@pytest.fixture
def fake(monkeypatch):
    """Guests that leave what they are told to leave."""
    left = {}

    class FakeGuest:
        def __init__(self, linux, command, **settings):
            left.setdefault("commands", []).append(command)
            left["settings"] = settings

        def __enter__(self):
            self._folder = self._temporary()
            self.results = self._folder.__enter__()
            return self

        def __exit__(self, *exception):
            self._folder.__exit__(*exception)

        @contextmanager
        def _temporary(self):
            import tempfile

            with tempfile.TemporaryDirectory() as name:
                self.job = Path(name)
                results = self.job / "out" / "results"
                (results / "run").mkdir(parents=True)
                yield results

        def wait(self, report):
            report(Progress(1.0, 2.0))
            return left["do"](self.results / "run")

    monkeypatch.setattr(guests, "Guest", FakeGuest)
    return left


def leaves(content, ended=FACTS):
    def do(folder):
        (folder / "run.json").write_bytes(content)
        return ended

    return do


def test_who_decides_what_time_is(monkeypatch):
    for uid, time_is in ((0, "real"), (1000, "virtual")):
        monkeypatch.setattr(os, "geteuid", lambda uid=uid: uid)
        assert time_of(replace(SPEC, time="auto")) == time_is
        assert time_of(REAL) == "real"
    settled = on_this_machine(SPEC)
    assert settled.time == "virtual"


def test_a_run_is_published_with_what_only_the_host_knows(fake, tmp_path):
    fake["do"] = leaves(a_run(SPEC))
    told = []
    run = guests.run_in_guest(SPEC, tmp_path / "run", GROUND, lambda stage, progress: told.append((stage, progress)))
    assert told == [("starting", Progress(1.0, 2.0))]
    assert record.read(tmp_path / "run/run.json") == run
    facts = {name: run.environment[name] for name in ("time", "guest_kernel", "guest_mode")}
    assert facts == {"time": "virtual", "guest_kernel": "7.2", "guest_mode": "seccomp"}
    assert abs(run.started.timestamp() - time.time()) < 60, "not the guest's clock"
    assert fake["settings"]["seed"] == SPEC.seed
    asked = json.loads(fake["commands"][0][2])
    assert asked["spec"]["time"] == "virtual"


@pytest.mark.parametrize(
    ("said", "stage"),
    [
        ("", "starting"),
        ('{"stage": "building"}\n', "building"),
        ('{"stage": "building"}\n{"stage": "publishing"}\n{"done": true}\n', "publishing"),
        ('{"stage": "building"}\n{"sta', "building"),
        ("[]\nnull\n", "starting"),
    ],
)
def test_a_run_is_at_the_last_stage_that_it_told(tmp_path, said, stage):
    (tmp_path / "stdout").write_text(said)
    assert guests._stage(tmp_path / "stdout") == stage
    assert guests._stage(tmp_path / "none") == "starting"


def test_machine_code_of_one_guest_is_kept_for_the_next(fake, tmp_path, monkeypatch):
    """What a guest compiles ends with it, and was compiled again in every guest of a user other than root."""
    monkeypatch.setattr(guests, "MOST_COMPILED", 3)
    kept = tmp_path / "kept"
    kept.mkdir()
    for number in range(3):
        (kept / f"old-{number}").write_text("code")
        os.utime(kept / f"old-{number}", (number, number))

    def compiles(folder):
        (made := folder.parent / "compiled").mkdir()
        (made / "new").write_text("more")
        return leaves(a_run(SPEC))(folder)

    fake["do"] = compiles
    ground = replace(GROUND, compiled=kept)
    guests.run_in_guest(SPEC, tmp_path / "run", ground, lambda stage, progress: None)
    assert sorted(path.name for path in kept.iterdir()) == ["new", "old-1", "old-2"]
    assert str(kept) in fake["commands"][0]

    def links(folder):
        ended = compiles(folder)
        (folder.parent / "compiled" / "link").symlink_to("/etc/passwd")
        return ended

    fake["do"] = links
    run = guests.run_in_guest(SPEC, tmp_path / "again", ground, lambda stage, progress: None)
    assert "nothing was measured" in run.reasons[0], "the run counts as it is"
    assert not (kept / "link").exists()


def test_a_guest_that_saw_real_time_gives_no_run_that_counts(fake, tmp_path):
    fake["do"] = leaves(a_run(SPEC), replace(FACTS, time_travel=False))
    run = guests.run_in_guest(SPEC, tmp_path / "run", GROUND, lambda stage, progress: None)
    assert run.verdict == "invalid"
    assert run.reasons[0].startswith("its time was not virtual")


def fails(error):
    def do(folder):
        raise error

    return do


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        (fails(GuestFailed("the guest's clock has stood at 3 s")), "clock has stood at 3 s"),
        (leaves(b"{"), "run.json is not JSON"),
        (leaves(a_run(replace(SPEC, seed=9))), "not the run that was asked for"),
        (leaves(b"", replace(FACTS, status=1, stderr="x\nhedera: no room")), "no room"),
        (lambda folder: (folder / "run.json").symlink_to("/etc/passwd") or FACTS, "not a regular file"),
    ],
)
def test_what_goes_wrong_in_a_guest_is_an_invalid_run_with_the_reason(fake, tmp_path, do, reason):
    fake["do"] = do
    run = guests.run_in_guest(SPEC, tmp_path / "run", GROUND, lambda stage, progress: None)
    assert (run.verdict, len(run.reasons)) == ("invalid", 1)
    assert reason in run.reasons[0]
    assert record.read(tmp_path / "run/run.json") == run


def test_there_is_no_second_try_and_kinds_of_time_are_not_mixed(tmp_path):
    job = Job(SPEC, tmp_path / "run")
    assert job.attempts == (tmp_path / "run",)
    assert len(Job(REAL, tmp_path / "run").attempts) == 2
    keep_settings(SPEC, tmp_path)
    with pytest.raises(UserMistake, match="time virtual there, real here"):
        keep_settings(REAL, tmp_path)


def test_a_forecast_grows_with_packets_and_hosts(tmp_path):
    def forecast(**changes):
        return seconds_left(plan(replace(SPEC, **changes), [TrafficSpec("stride:4")], ["ecmp"], 1, tmp_path))

    assert forecast() < forecast(link_mbps=1000.0, mtu=9000) < forecast(link_mbps=1000.0)
    assert forecast() < forecast(k=8)


@pytest.mark.parametrize("full_before", [True, False])
def test_a_full_disk_of_guests_is_no_result(fake, tmp_path, monkeypatch, full_before):
    """In virtual time there is no second try, so a run that is kept is never made again."""
    asked = []

    def room(*folders, **settings):
        asked.append(folders[0].name)
        if asked.count("jobs") == (1 if full_before else 2):
            raise RunFailed("the disk is full")

    monkeypatch.setattr(guests, "require_room", room)
    fake["do"] = fails(GuestFailed("what the guest wrote did not fit"))
    with pytest.raises(RunFailed, match="the disk is full"):
        guests.run_in_guest(SPEC, tmp_path / "run", GROUND, lambda stage, progress: None)
    assert ("commands" in fake) != full_before
    assert Job(SPEC, tmp_path / "run").next_folder() == tmp_path / "run"


def test_where_no_guest_can_be_booted_is_said(fake, tmp_path):
    fake["do"] = fails(Unavailable("others can write to it"))
    with pytest.raises(UnfitMachine, match="virtual time: others can write to it"):
        guests.run_in_guest(SPEC, tmp_path / "run", GROUND, lambda stage, progress: None)


class Heard(guests.Watcher):
    def __init__(self):
        self.ended = []

    def done(self, job, run):
        self.ended.append(job.spec.trial)


def test_all_jobs_are_done_as_many_at_once_as_asked(fake, tmp_path):
    jobs = plan(SPEC, [TrafficSpec("stride:4")], ["ecmp"], 5, tmp_path)
    most, now, lock = [0], [0], threading.Lock()

    def do(folder):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.2)
        with lock:
            now[0] -= 1
        raise GuestFailed("as told")

    fake["do"] = do
    heard = Heard()
    guests.carry_out(jobs, GROUND, 2, heard)
    assert sorted(heard.ended) == [1, 2, 3, 4, 5]
    assert most == [2]


def test_a_failure_of_ours_ends_the_sweep_and_every_guest(fake, tmp_path):
    jobs = plan(SPEC, [TrafficSpec("stride:4")], ["ecmp"], 4, tmp_path)
    fake["do"] = fails(KeyboardInterrupt())
    before = threading.active_count()  # other tests may leave some
    with pytest.raises(KeyboardInterrupt):
        guests.carry_out(jobs, GROUND, 2, Heard())
    assert threading.active_count() == before


def test_a_worker_s_word_is_not_believed():
    with pytest.raises(WorkerFailed):
        guests.require_same(record.decode(a_run(SPEC)), replace(SPEC, k=6), guests.NAME, GROUND.code)


@pytest.mark.root
@pytest.mark.real
def test_no_run_is_called_virtual_where_time_is_real(tmp_path):
    with pytest.raises(UnfitMachine, match="time is real here"):
        run_experiment(SPEC, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.virtual
def test_a_run_in_a_guest_counts_whatever_else_the_machine_does(tmp_path):
    ground = guests.prepare(print)
    asked = RunSpec("hedera-gff", "stride:4", seconds=5.0, time="virtual", platform="os-ken", controller_delay_ms=100.0)
    spec, stages = resolve(asked), []
    run = guests.run_in_guest(spec, tmp_path / "run", ground, lambda stage, progress: stages.append(stage))
    assert (run.verdict, run.reasons) == ("ok", ())
    assert run.bisection_mbps is not None
    assert 100 < run.bisection_mbps < 160
    # A flow's first packet waits for the controller's answer, and so does what acknowledges it; a round asks first,
    # then changes the aggregation switches, then the edge.
    assert min(flow.start for flow in run.flows) == pytest.approx(0.2, abs=0.02)
    first = run.rounds[0]
    assert (first.changed > 0, first.t) == (True, pytest.approx(2.3, abs=0.05))
    assert (first.polled_ms, first.install_ms) == (pytest.approx(100, abs=2), pytest.approx(200, abs=5))
    assert list(dict.fromkeys(stages))[:3] == ["starting", "building", "sending"]
    assert run.environment["time"] == run.spec.time == "virtual"
    assert "links alone" in {rule.rule for rule in run.rules if rule.kept is not None}  # round trips are known
