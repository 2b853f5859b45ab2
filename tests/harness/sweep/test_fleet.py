"""Who makes which run, and what is believed of it; the cluster is a fake one."""

import asyncio
import errno
import json
import os
import re
import time
from dataclasses import replace

import msgspec
import pytest
from msgspec import to_builtins

from harness.errors import RunFailed, UnfitMachine
from harness.run.spec import RunSpec
from harness.sweep import fleet as fleet_module
from harness.sweep import remote
from harness.sweep.fleet import Fleet
from harness.sweep.groups import groups, maker_of
from harness.sweep.member import Watcher, introduced, require_fit, require_same
from harness.sweep.parcel import pack
from harness.sweep.plan import Job, keep_settings, plan
from harness.sweep.source import Source
from harness.sweep.store import read_run
from harness.sweep.suites import TrafficSpec
from harness.sweep.tail import begun
from results.live import Worker
from results.record import SCHEMA
from tests.harness.sweep.run_files import run_json

CODE = Source("abc", "f" * 16)
BASE = RunSpec("ecmp", "stride:1", seconds=10, platform="os-ken", datapath="user", time="real")
FIT = {
    "schema": SCHEMA,
    "fingerprint": CODE.fingerprint,
    "root": True,
    "missing": [],
    "kernel_datapath": True,
    "pox": False,
    "host": "h",
    "machine": "m",
    "revision": "abc",
}


class FakeFuture:
    def __init__(self, answer, looks=2):
        self._answer, self._looks, self.cancelled = answer, looks, False

    def done(self):
        self._looks -= 1
        return self._looks <= 0

    @property
    def status(self):
        return "error" if isinstance(self._answer, Exception) else "finished"

    def exception(self, timeout):
        return self._answer if isinstance(self._answer, Exception) else None

    def result(self, timeout):
        return self._answer

    def cancel(self):
        self.cancelled = True


class FakeClient:
    """``told``: what each worker says of itself; ``script(worker, asked)`` answers a run, or loses the worker."""

    def __init__(self, told, tmp_path, script=None):
        self.told = dict(told)
        self.made = []
        self._tmp, self._script = tmp_path, script
        self._names = {f"tls://{name}:1": name for name in told}

    def subscribe_topic(self, topic, handler):
        self.hear = handler

    def scheduler_info(self):
        return {"workers": {at: {"name": name} for at, name in self._names.items()}}

    def lose(self, name):
        del self._names[f"tls://{name}:1"]

    def submit(self, function, *arguments, workers, resources, **options):
        (address,) = workers
        name = self._names[address]
        if function is remote.introduce:
            assert resources is None, "a worker at a run can still say what it is"
            return self.told[name] if isinstance(self.told[name], FakeFuture) else FakeFuture(self.told[name])
        assert resources == remote.RESOURCE
        (asked,) = arguments
        if function is remote.carried_rates:
            rates = self.told[name]["rates"]
            return (
                rates if isinstance(rates, FakeFuture) else FakeFuture({str(mtu): rates[mtu] for mtu in asked["mtus"]})
            )
        assert function is remote.carry_out
        self.made.append((name, asked["spec"]["traffic"], asked["spec"]["trial"], asked["spec"]["scheme"]))
        answer = self._script(self, name, asked) if self._script else None
        if isinstance(answer, FakeFuture):
            return answer
        return FakeFuture(self.run(name, asked) if answer is None else answer)

    def run(self, name, asked, **more):
        folder = self._tmp / f"run-{len(self.made)}-{name}"
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(result(remote.spec_of(asked), name, **more)))
        (folder / "iperf-0.txt").write_text("said")
        return pack(folder)


def result(spec, worker, verdict="ok", **more):
    told = ("scheme", "traffic", "trial", "seed")
    settings = {n: value for n, value in spec.for_its_traffic().as_json().items() if n not in told}
    matrix = spec.workload().standing
    return run_json(verdict) | {
        **{name: getattr(spec, name) for name in told},
        "spec": settings,
        "matrix": [[int(s), int(d)] for s, d in zip(matrix.src, matrix.dst, strict=True)],
        "environment": {"worker": worker, "source": CODE.fingerprint},
        **more,
    }


class Heard(Watcher):
    def __init__(self):
        self.sentences, self.runs, self.lives = [], [], []

    def done(self, job, run):
        self.runs.append((run.environment["worker"], job.folder.parent.name, run.verdict))

    def warn(self, sentence):
        self.sentences.append(sentence)

    def look(self, members):
        self.lives.append([member.as_live() for member in members])


def never():
    """A worker that stays connected and says nothing."""
    return FakeFuture(None, looks=10**9)


class NotHandedOver(FakeFuture):
    """It has an answer, but does not send it."""

    def result(self, timeout):
        assert timeout > 0
        raise asyncio.TimeoutError


@pytest.fixture
def impatient(monkeypatch):
    """What has no end is found to have none within a moment."""
    monkeypatch.setattr(fleet_module, "INTRODUCTION_S", 0.2)
    monkeypatch.setattr(fleet_module, "LATE_S", 0.1)
    monkeypatch.setattr(remote, "RATES_S", 0.1)
    monkeypatch.setattr(remote, "run_s", lambda spec: 0.1)


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(fleet_module, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(fleet_module, "NO_WORKER_S", 0.1)


def jobs_of(folder, patterns=("stride:1", "randbij"), schemes=("nonblocking", "ecmp"), trials=2):
    folder.mkdir(exist_ok=True)
    keep_settings(BASE, folder)
    return plan(BASE, [TrafficSpec(pattern) for pattern in patterns], schemes, trials, folder)


def sweep(tmp_path, told, script=None, **options):
    client, heard = FakeClient(told, tmp_path, script), Heard()
    fleet = Fleet(client, heard, CODE)
    fleet.gather()
    jobs = jobs_of(tmp_path / "sweep", **options)
    fleet.carry_out(jobs)
    return client, heard, jobs


def test_every_run_is_made_once_and_those_of_a_pattern_and_trial_by_one_worker(tmp_path):
    client, heard, jobs = sweep(tmp_path, {"a": FIT, "b": FIT})
    assert len(client.made) == len(set(made[1:] for made in client.made)) == len(jobs) == 8
    by_group = {}
    for worker, pattern, trial, _ in client.made:
        by_group.setdefault((pattern, trial), set()).add(worker)
    assert [len(workers) for workers in by_group.values()] == [1] * 4
    assert {worker for workers in by_group.values() for worker in workers} == {"a", "b"}
    assert all(job.outcome().valid for job in jobs)
    assert (jobs[0].folder / "iperf-0.txt").read_text() == "said"
    assert heard.sentences == []


def test_a_lost_worker_s_run_is_made_elsewhere_and_its_finished_ones_count(tmp_path):
    def lose_b(client, name, asked):
        if name == "b" and asked["spec"]["scheme"] == "ecmp":
            client.lose("b")
            return never()
        return None

    client, heard, jobs = sweep(tmp_path, {"a": FIT, "b": FIT}, lose_b)
    assert [sentence for sentence in heard.sentences if "worker b is lost" in sentence] == heard.sentences
    published = [(job.outcome().run.environment["worker"], job.outcome().valid) for job in jobs]
    assert sorted(published) == [("a", True)] * 7 + [("b", True)]
    assert len(client.made) == 9
    assert not any(job.attempts[1].exists() for job in jobs), "a lost run is no try"


def test_a_sweep_goes_on_where_it_stopped_on_the_worker_that_began(tmp_path):
    jobs = jobs_of(tmp_path / "sweep")
    client = FakeClient({"a": FIT, "b": FIT, "c": FIT}, tmp_path)
    first = next(job for job in jobs if job.spec.traffic == "randbij")
    folder = first.folder
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(result(first.spec, "c")))
    group = next(group for group in groups(jobs) if group[0] is first)
    assert maker_of(group) == "c"
    fleet = Fleet(client, Heard(), CODE)
    fleet.gather()
    fleet.carry_out(jobs)
    assert ("c", "randbij", 1, "ecmp") in client.made
    assert len(client.made) == 7


def test_an_invalid_run_is_tried_once_more_by_the_same_worker(tmp_path):
    def invalid(client, name, asked):
        return client.run(name, asked, verdict="invalid", reasons=["slow"])

    client, heard, jobs = sweep(tmp_path, {"a": FIT}, invalid, patterns=("stride:1",), trials=1)
    assert [made[3] for made in client.made] == ["nonblocking"] * 2 + ["ecmp"] * 2
    assert [run[2] for run in heard.runs] == ["invalid"] * 4
    assert all(not job.outcome().valid for job in jobs)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"fingerprint": "0" * 16, "revision": "old"}, "its code is of revision old, here is abc"),
        ({"root": False}, "start it with sudo, or ask for --time virtual"),
        ({"missing": ["ovs-vswitchd"]}, "ovs-vswitchd missing there: run setup/install.sh --cluster"),
        ({"schema": 1}, "another revision"),
    ],
)
def test_a_worker_that_cannot_make_runs_is_refused_in_one_sentence(tmp_path, said, sentence):
    with pytest.raises(RunFailed, match=re.escape(sentence)):
        require_fit(introduced(FIT | said, CODE), "real")
    client, heard, _ = sweep(tmp_path, {"a": FIT, "bad": FIT | said})
    assert {made[0] for made in client.made} == {"a"}
    assert len(heard.sentences) == 1
    assert heard.sentences[0].startswith("worker bad is not used: ")
    with pytest.raises(UnfitMachine):
        Fleet(FakeClient({"bad": FIT | said}, tmp_path), Heard(), CODE).gather("real")


USER = FIT | {"root": False, "missing": ["mnexec"], "kernel_datapath": False}


@pytest.mark.parametrize(
    ("asked", "there", "time_is", "fit"),
    [
        ("auto", {"a": USER, "b": USER}, "virtual", ["a", "b"]),
        ("auto", {"a": USER, "root": FIT}, "real", ["root"]),
        ("real", {"a": USER, "root": FIT}, "real", ["root"]),
        ("virtual", {"a": USER, "root": FIT}, "virtual", ["a"]),
    ],
)
def test_root_makes_runs_in_real_time_and_ordinary_users_in_virtual_time(tmp_path, asked, there, time_is, fit):
    heard = Heard()
    fleet = Fleet(FakeClient(there, tmp_path), heard, CODE)
    fleet.gather(asked)
    assert [member.name for member in fleet.fit] == fit
    assert len(heard.sentences) == len(there) - len(fit), "each of the others is named"
    auto = replace(BASE, time="auto", datapath="auto", platform="auto")
    settled = fleet.resolve(auto)
    assert (settled.time, settled.datapath) == (time_is, "kernel")


def test_who_joins_late_is_held_to_the_time_of_the_sweep(tmp_path):
    client, heard = FakeClient({"a": USER}, tmp_path), Heard()
    fleet = Fleet(client, heard, CODE)
    fleet.gather()
    client.told["late"], client._names["tls://late:1"] = FIT, "late"
    for _ in range(3):
        fleet._roll_call()
    assert [member.name for member in fleet.fit] == ["a"]
    assert heard.sentences == [
        "worker late is not used: it runs as root, and makes runs in real time: start it as an ordinary user"
    ]


def test_only_users_for_real_time_is_no_cluster(tmp_path):
    with pytest.raises(UnfitMachine, match="no worker of this cluster can make runs"):
        Fleet(FakeClient({"a": USER}, tmp_path), Heard(), CODE).gather("real")


def test_in_virtual_time_runs_of_a_pattern_are_spread_for_machines_do_not_differ(tmp_path):
    virtual = [Job(replace(job.spec, time="virtual"), job.folder) for job in jobs_of(tmp_path)]
    assert [len(group) for group in groups(virtual)] == [1] * 8


def test_a_cluster_without_workers_says_so(tmp_path):
    with pytest.raises(UnfitMachine, match="hedera cluster worker"):
        Fleet(FakeClient({}, tmp_path), Heard(), CODE).gather()


def test_auto_is_what_all_workers_can(tmp_path):
    fleet = Fleet(
        FakeClient(
            {
                "a": FIT | {"rates": {1500: 20.0, 9000: 50.0}},
                "b": FIT | {"kernel_datapath": False, "rates": {1500: 25.0, 9000: 40.0}},
            },
            tmp_path,
        ),
        Heard(),
        CODE,
    )
    fleet.gather()
    auto = replace(BASE, datapath="auto", platform="auto")
    assert (fleet.resolve(auto).datapath, fleet.resolve(auto).platform) == ("user", "os-ken")
    with pytest.raises(UnfitMachine, match="kernel module is missing on b:"):
        fleet.resolve(replace(auto, datapath="kernel"))
    assert fleet.resolve(auto).time == "real"
    assert fleet.least_rates(BASE, (1500, 9000)) == {1500: 20.0, 9000: 40.0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": 7},
        {"traffic": "stride:2"},
        {"matrix": [[0, 1]]},
        {"environment": {"worker": "someone else", "source": CODE.fingerprint}},
        {"environment": {"worker": "a", "source": "changed"}},
    ],
)
def test_what_is_not_the_run_that_was_asked_for_is_not_published(tmp_path, wrong):
    def lie(client, name, asked):
        return client.run(name, asked, **wrong) if name == "a" else None

    client, heard, jobs = sweep(tmp_path, {"a": FIT, "b": FIT}, lie)
    assert {job.outcome().run.environment["worker"] for job in jobs} == {"b"}
    assert [made[0] for made in client.made].count("a") == 1
    assert "worker a is not used any more" in heard.sentences[0]


def test_a_worker_that_fails_is_used_no_more_and_with_the_last_the_sweep_ends(tmp_path):
    def full(client, name, asked):
        return RunFailed("the disk of /tmp is full")

    with pytest.raises(UnfitMachine, match="no worker is left"):
        sweep(tmp_path, {"a": FIT, "b": FIT}, full)
    assert not any((tmp_path / "sweep").rglob("run.json"))


def test_a_full_disk_of_the_client_ends_the_sweep_and_is_no_worker_s_fault(tmp_path, monkeypatch):
    def full(parcel, folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(fleet_module, "unpack", full)
    heard = Heard()
    fleet = Fleet(FakeClient({"a": FIT, "b": FIT}, tmp_path), heard, CODE)
    fleet.gather()
    with pytest.raises(RunFailed, match=r"^the disk of .* is full: this run is not kept"):
        fleet.carry_out(jobs_of(tmp_path / "sweep"))
    assert [member.name for member in fleet.fit] == ["a", "b"]
    assert heard.sentences == []


def test_garbage_is_no_run_and_nothing_of_it_is_left(tmp_path):
    def garbage(client, name, asked):
        return b"\x1f\x8b nothing" if name == "a" else None

    _, heard, jobs = sweep(tmp_path, {"a": FIT, "b": FIT}, garbage, trials=1)
    assert "cannot be unpacked" in heard.sentences[0]
    assert all(read_run(job.folder) for job in jobs)
    assert not [path for path in (tmp_path / "sweep").rglob("*") if path.name.endswith(".partial")]


def test_what_a_worker_tells_of_its_run_is_shown_and_nonsense_is_not(tmp_path):
    def tell(client, name, asked):
        now = begun(remote.spec_of(asked), "sending", name)
        for said in ("x", {"run": 3}, {"run": {"scheme": 3}}, {}, {"run": to_builtins(now)}):
            client.hear((1.0, said))

    _, heard, _ = sweep(tmp_path, {"a": FIT}, tell, patterns=("stride:1",), schemes=("ecmp",), trials=1)
    assert "stride:1 ecmp: sending" in {member.doing for members in heard.lives for member in members}


def test_a_run_s_settings_have_to_be_those_asked_for():
    from results.record import decode

    spec = replace(BASE, link_mbps=5.0)
    run = decode(json.dumps(result(spec, "a")).encode())
    require_same(run, spec, "a", CODE)
    with pytest.raises(RunFailed, match="link_mbps"):
        require_same(run, BASE, "a", CODE)


@pytest.mark.timeout(300)
def test_a_worker_that_does_not_say_what_it_is_is_not_waited_for(tmp_path, impatient):
    client, heard, jobs = sweep(tmp_path, {"a": FIT, "silent": never()})
    assert heard.sentences == ["worker silent is not used: it has not said what it is within 0 s"]
    assert client.told["silent"].cancelled
    assert all(job.outcome().valid for job in jobs)
    with pytest.raises(UnfitMachine, match="no worker of this cluster can make runs"):
        Fleet(FakeClient({"silent": never()}, tmp_path), Heard(), CODE).gather()


@pytest.mark.timeout(300)
def test_a_worker_that_measures_for_ever_is_left_out(tmp_path, impatient):
    heard = Heard()
    told = {"a": FIT | {"rates": {1500: 20.0}}, "b": FIT | {"rates": never()}}
    told |= {"c": FIT | {"rates": NotHandedOver({})}, "d": FIT | {"rates": FakeFuture({"1500": "nan"})}}
    fleet = Fleet(FakeClient(told, tmp_path), heard, CODE)
    fleet.gather()
    assert fleet.least_rates(BASE, [1500]) == {1500: 20.0}
    assert [member.name for member in fleet.fit] == ["a"]
    assert "worker b is not used: it has not said which link rate it carries within 0 s" in heard.sentences
    assert "worker c is not used: it has said which link rate it carries, and does not hand it over" in heard.sentences


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("stuck", "sentence"),
    [
        (never, "worker b is not used any more: it has not made its run within 0 s (it was asked for)"),
        (
            lambda: NotHandedOver(b"a run"),
            "worker b is not used any more: it has made its run, and does not hand it over (it was asked for)",
        ),
    ],
)
def test_a_run_of_a_worker_that_hangs_is_made_elsewhere(tmp_path, impatient, stuck, sentence):
    futures = []

    def hang(client, name, asked):
        if name == "b":
            futures.append(stuck())
            return futures[-1]
        return None

    _, heard, jobs = sweep(tmp_path, {"a": FIT, "b": FIT}, hang)
    assert heard.sentences == [sentence]
    assert {job.outcome().run.environment["worker"] for job in jobs} == {"a"}
    assert len(futures) == 1, "it is asked for no more"


@pytest.mark.timeout(300)
def test_a_scheduler_that_does_not_answer_ends_the_sweep(tmp_path, monkeypatch):
    monkeypatch.setattr(fleet_module, "SCHEDULER_S", 0.3)
    client = FakeClient({"a": FIT}, tmp_path)
    monkeypatch.setattr(client, "scheduler_info", lambda: time.sleep(60))
    with pytest.raises(RunFailed, match=r"does not answer; finished results are kept, and the same command goes on"):
        Fleet(client, Heard(), CODE).gather()


def test_what_a_worker_says_is_one_clean_line_for_the_terminal(tmp_path):
    client, heard = FakeClient({}, tmp_path), Heard()
    odd = "b\x1b[2J\n"
    client.told = {
        "a": FIT,
        odd: FIT | {"machine": "\x1b]0;mine\x07"},
        "c": FakeFuture(ValueError("\x1b[31m" * 10**6)),
    }
    client._names = {f"tls://{number}:1": name for number, name in enumerate(client.told)}
    fleet = Fleet(client, heard, CODE)
    fleet.gather()
    for member in fleet._members.values():
        assert msgspec.json.decode(msgspec.json.encode(member.as_live()), type=Worker)
    assert all(sentence.isprintable() and len(sentence) < 500 for sentence in heard.sentences)
    assert sorted(sentence[:20] for sentence in heard.sentences) == [
        r"worker b\x1b[2J is n",
        "worker c is not used",
    ]


def test_a_worker_speaks_of_no_run_but_those_that_were_asked_for(tmp_path):
    client = FakeClient({"a": FIT}, tmp_path)
    fleet = Fleet(client, Heard(), CODE)
    for number in range(100):
        client.hear((1.0, {"run": to_builtins(begun(BASE, "sending", f"nobody {number}"))}))
    assert fleet._live == {}
