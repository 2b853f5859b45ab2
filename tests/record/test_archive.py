"""An archive of runs gives back what was put in, and one that is somebody's trick gives a sentence."""

import lzma

import pytest

from record import archive
from record.archive import ARCHIVE, pack, unpacked
from traffic.textfile import Unreadable


def store(folder, data):
    (folder / ARCHIVE).write_bytes(data)
    return folder / ARCHIVE


def test_what_is_packed_comes_out_and_the_same_bytes_each_time(tmp_path):
    runs = {"b/trial-1/run.json": b'{"traffic":"file:GNU.sparse.csv"}', "a/trial-1/run.json": b"[1]"}
    path = store(tmp_path, pack(runs))
    assert list(unpacked(path)) == sorted(runs.items())
    assert pack(dict(reversed(runs.items()))) == path.read_bytes()
    assert len(lzma.decompress(path.read_bytes()).splitlines()) == 2


@pytest.mark.parametrize("name", ["/abs/run.json", "../run.json", "a/../../run.json"])
def test_what_would_lie_outside_the_folder_is_left_out(tmp_path, name):
    path = store(tmp_path, pack({name: b"{}", "a/run.json": b"[]"}))
    assert list(unpacked(path)) == [("a/run.json", b"[]")]


def test_what_is_no_archive_or_is_cut_off_or_asks_for_much_is_one_sentence(tmp_path, monkeypatch):
    whole = pack({"a/run.json": b"[%s]" % (b"1," * 50_000 + b"1"), "b/run.json": b"[]"})
    much = lzma.compress(b'{"file": "a", "run": 1}', filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}])
    for data in (b"", b"nothing", lzma.compress(b"no runs"), whole[:-20], much, lzma.compress(b"[" * 10**6)):
        with pytest.raises(Unreadable, match=r"is no archive of runs|is cut off"):
            list(unpacked(store(tmp_path, data)))
    for limit, most in (("MAX_BYTES", 50_000), ("MAX_RUNS", 1)):
        with (
            monkeypatch.context() as patched,
            pytest.raises(Unreadable, match=r"larger than 0\.05 MB|more than 1 runs"),
        ):
            patched.setattr(archive, limit, most)
            list(unpacked(store(tmp_path, whole)))


def test_what_is_no_json_is_not_packed_but_named():
    with pytest.raises(ValueError, match=r"a/run\.json"):
        pack({"a/run.json": b'{"cut": ', "b/run.json": b"[]"})
