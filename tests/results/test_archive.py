"""An archive of runs gives back what was put in, and one that is somebody's trick gives a sentence."""

import io
import lzma
import tarfile

import pytest

from results import archive
from results.archive import pack, unpacked
from traffic.textfile import Unreadable


def store(folder, data):
    (folder / "runs.tar.xz").write_bytes(data)
    return folder / "runs.tar.xz"


def test_what_is_packed_comes_out_and_the_same_bytes_each_time(tmp_path):
    runs = {"b/trial-1/run.json": b'{"traffic": "file:GNU.sparse.csv"}', "a/trial-1/run.json": b"[1]" * 1000}
    path = store(tmp_path, pack(runs))
    assert list(unpacked(path)) == sorted(runs.items())
    assert pack(dict(reversed(runs.items()))) == path.read_bytes()


def test_other_files_and_links_are_left_out(tmp_path):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, kind in (("x/run.json", tarfile.SYMTYPE), ("y/run.json", tarfile.CHRTYPE), ("z", tarfile.REGTYPE)):
            about = tarfile.TarInfo(name)
            about.type, about.linkname = kind, "/etc/passwd"
            tar.addfile(about)
    assert list(unpacked(store(tmp_path, lzma.compress(plain.getvalue())))) == []


@pytest.mark.parametrize("name", ["/abs/run.json", "../run.json", "a/../../run.json"])
def test_what_would_lie_outside_the_folder_is_left_out(tmp_path, name):
    path = store(tmp_path, pack({name: b"{}", "a/run.json": b"[]"}))
    assert list(unpacked(path)) == [("a/run.json", b"[]")]


@pytest.mark.parametrize("data", [b"", b"nothing", lzma.compress(b"no tar" * 1000)], ids=len)
def test_what_is_no_archive_is_one_sentence(tmp_path, data):
    with pytest.raises(Unreadable, match=r"is no archive of runs|is cut off"):
        list(unpacked(store(tmp_path, data)))


def test_one_that_is_cut_off_or_too_large_is_too(tmp_path, monkeypatch):
    whole = pack({"a/run.json": bytes(100_000)})
    with pytest.raises(Unreadable, match="is cut off"):
        list(unpacked(store(tmp_path, whole[:-20])))
    monkeypatch.setattr(archive, "MAX_BYTES", 50_000)
    with pytest.raises(Unreadable, match=r"larger than 0\.05 MB"):
        list(unpacked(store(tmp_path, whole)))


def test_one_that_asks_for_much_memory_gets_none(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    with pytest.raises(Unreadable, match="is no archive of runs"):
        list(unpacked(store(tmp_path, lzma.compress(b"", filters=filters))))
