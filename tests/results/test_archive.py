"""An archive of runs gives back what was put in, and one that is somebody's trick gives a sentence."""

import io
import lzma
import tarfile

import pytest

from results import archive
from results.archive import pack, unpacked
from results.files import Unreadable


def store(folder, data):
    (folder / "runs.tar.xz").write_bytes(data)
    return folder / "runs.tar.xz"


def test_what_is_packed_comes_out_and_the_same_bytes_each_time(tmp_path):
    runs = {"b/trial-1/run.json": b"{}", "a/trial-1/run.json": b"[1]" * 1000}
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


def tar(*members, format=tarfile.PAX_FORMAT):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=format) as written:
        for member in members:
            written.addfile(member, io.BytesIO(bytes(member.size)))
    return plain.getvalue()


def test_few_bytes_that_would_be_very_many(tmp_path):
    """Sparse files of 2^60 bytes, members without number, a name without end."""
    pax = tarfile.TarInfo("a/run.json")
    pax.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 60)}
    old = bytearray(tarfile.TarInfo("a/run.json").tobuf(tarfile.GNU_FORMAT))
    old[156:157] = tarfile.GNUTYPE_SPARSE
    old[148:156] = b"%06o\0 " % (sum(old[:148]) + sum(old[156:]) + 8 * 32)
    named = tarfile.TarInfo("a" * 100_000 + "/run.json")
    for plain, why in (
        (tar(pax), "sparse"),
        (bytes(old) + bytes(1024), "sparse"),
        (tar(named), "name"),
        (tar(named, format=tarfile.GNU_FORMAT), "name"),
        (tar(*map(tarfile.TarInfo, map(str, range(30_000)))), "more than 20000"),
    ):
        with pytest.raises(Unreadable, match=why):
            list(unpacked(store(tmp_path, lzma.compress(plain, preset=0))))
