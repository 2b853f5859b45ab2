"""Attacks of a worker on the client of a sweep, by what it sends: bytes that should be a run, and words."""

import gzip
import io
import json
import os
import pickle
import resource
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from msgspec import to_builtins

from harness.errors import WorkerFailed
from harness.sweep import fleet as fleet_module
from harness.sweep import parcel
from harness.sweep.fleet import Fleet
from harness.sweep.parcel import unpack
from harness.sweep.remote import spec_of
from harness.sweep.store import RESULT
from harness.sweep.tail import begun
from tests.harness.sweep.test_fleet import BASE, CODE, FIT, FakeClient, FakeFuture, Heard, result, sweep
from tests.harness.sweep.test_parcel import archive

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(
    "name",
    [
        "../../won",
        "/tmp/hedera-won",
        "a/../../won",
        "..",
        "run.json/../../won",
        "a\\..\\won",
        ".ssh",
        "\x1b[2J",
    ],
)
def test_a_parcel_that_leads_out_of_its_folder(tmp_path, name):
    """A worker names the files of its run so that they are written elsewhere on the client."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    with pytest.raises(WorkerFailed, match="which no run writes") as refused:
        unpack(archive(name), inner)
    assert str(refused.value).isprintable()
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b"]
    assert not Path("/tmp/hedera-won").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFDIR])
def test_a_parcel_with_a_link_or_a_device(tmp_path, kind):
    """A worker sends a link, or a device, and then a file by its name, which is written through it."""
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "in").mkdir()
    odd = zipfile.ZipInfo("a")
    odd.create_system, odd.external_attr = 3, (kind | 0o777) << 16
    with pytest.raises(WorkerFailed, match="cannot be unpacked"):
        unpack(archive(odd, "a", content=str(tmp_path / "victim").encode()), tmp_path / "in")
    assert (tmp_path / "victim").read_text() == "mine"
    assert [stat.S_ISREG(path.lstat().st_mode) for path in (tmp_path / "in").iterdir()] == [True]


def test_a_parcel_that_fills_the_disk(tmp_path, monkeypatch):
    """A worker sends some kilobytes that unpack to more than any run is, in one file, in many, or in empty ones."""
    monkeypatch.setattr(parcel, "MAX_BYTES", 32 << 20)
    monkeypatch.setattr(parcel, "MAX_FILES", 1000)
    one = archive("run.json", content=bytes(33 << 20))
    assert len(one) < 100_000
    many = archive(*(f"f{number}" for number in range(33)), content=bytes(1 << 20))
    for bomb in (one, many, archive(*(f"f{number}" for number in range(1001)), content=b"")):
        with pytest.raises(WorkerFailed, match="is larger than 32 MiB"):
            unpack(bomb, tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_a_parcel_that_fills_the_memory(tmp_path):
    """A worker sends some kilobytes of which one head alone unpacks to gigabytes: a long name, a table."""
    long_name = tarfile.TarInfo("x")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 256 << 20
    tar = io.BytesIO()
    with gzip.open(tar, "wb") as zipped:
        zipped.write(long_name.tobuf(tarfile.GNU_FORMAT))
        for _ in range(256):
            zipped.write(bytes(1 << 20))
    whole = archive("run.json")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for bomb in (tar.getvalue(), whole[:-10] + b"\xff\xff\xff\x7f" + whole[-6:]):
        with pytest.raises(WorkerFailed, match="cannot be unpacked"):
            unpack(bomb, tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


class Program:
    """What runs where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_parcel_that_is_a_pickle(tmp_path):
    """A worker sends the bytes of a pickle, or an object, in the place of a run."""
    (tmp_path / "in").mkdir()
    for sent in (
        pickle.dumps(Program(tmp_path / "won")),
        Program(tmp_path / "won"),
        [b"run"],
        3,
        None,
        bytearray(8),
    ):
        with pytest.raises(WorkerFailed, match="what the worker sent"):
            unpack(sent, tmp_path / "in")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    "lie",
    [
        {"traffic": "../../../won"},
        {"scheme": "../../won"},
        {"trial": -1},
        {"trial": 2},
        {"seed": 2**60},
        {"environment": {"worker": "../..", "source": CODE.fingerprint}},
        {"environment": {"worker": "b", "source": CODE.fingerprint}},
        {"matrix": [[0, 10**9]]},
        {"bisection_mbps": 1e300},
        {"reasons": ["\x1b[2J"], "verdict": "invalid"},
        {"flows": [{"src": "../..", "dst": 0, "mbps": 1.0}]},
    ],
)
def test_a_result_that_is_another_one(tmp_path, lie):
    """A worker sends a result of another pattern, scheme, trial or maker, by names that lead elsewhere, or none."""

    def send(client, name, asked):
        if name == "b":
            return None
        folder = tmp_path / f"lie-{len(client.made)}"
        folder.mkdir()
        (folder / RESULT).write_text(json.dumps(result(spec_of(asked), name) | lie))
        return parcel.pack(folder)

    before = {path.name for path in tmp_path.parent.iterdir()}
    few = {"patterns": ("stride:1",), "schemes": ("ecmp",), "trials": 1}
    _, heard, jobs = sweep(tmp_path, {"a": FIT, "b": FIT}, send, **few)
    assert any("worker a is not used any more" in sentence for sentence in heard.sentences)
    assert all(sentence.isprintable() for sentence in heard.sentences)
    assert {job.outcome().run.environment["worker"] for job in jobs} == {"b"}
    assert {path.name for path in tmp_path.parent.iterdir()} == before


@pytest.mark.parametrize(
    "said",
    [
        "\x1b]0;mine\x07",
        {"schema": "\x1b[2J"},
        FIT | {"revision": "\x1b[2J", "fingerprint": "x"},
        ["x"] * 10**5,
        None,
        FIT | {"missing": ["\x1b[31m" * 10**5]},
        ValueError("\x1b[2J\n" * 10**6),
        FIT | {"machine": "\x9b31m"},
        FIT | {"missing": ["x" * 1000] * 1000},
        FIT | {"root": "yes"},
        FIT | {"revision": "r" * 9999, "schema": 0},
    ],
)
def test_words_for_the_client_s_terminal(tmp_path, said):
    """A worker says of itself, or fails with, what a terminal obeys, or what fills it."""
    _, heard, jobs = sweep(tmp_path, {"a": FIT, "odd": said}, patterns=("stride:1",), schemes=("ecmp",), trials=1)
    (sentence,) = heard.sentences
    assert sentence.startswith("worker odd is not used: ")
    assert sentence.isprintable()
    assert len(sentence) < 400
    assert all(job.outcome().valid for job in jobs)


def test_an_answer_that_never_comes(tmp_path, monkeypatch):
    """A worker stays connected and never says what it is."""
    monkeypatch.setattr(fleet_module, "INTRODUCTION_S", 0.2)
    _, heard, jobs = sweep(tmp_path, {"a": FIT, "odd": FakeFuture(None, looks=10**9)}, trials=1)
    assert heard.sentences == ["worker odd is not used: it has not said what it is within 0 s"]
    assert all(job.outcome().valid for job in jobs)


def test_words_about_runs_of_others(tmp_path):
    """A worker tells of runs that it was not asked for, by a million names, and by those of others."""
    client = FakeClient({"a": FIT}, tmp_path)
    fleet = Fleet(client, Heard(), CODE)
    for number in range(1000):
        client.hear((0.0, {"run": to_builtins(begun(BASE, "sending", str(number)))}))
    assert fleet._live == {}
