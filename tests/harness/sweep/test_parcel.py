import io
import stat
import warnings
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunFailed
from harness.sweep import parcel
from harness.sweep.parcel import pack, unpack


def archive(*members, content=b"x", how=zipfile.ZIP_DEFLATED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same name twice
        for member in members:
            info = zipfile.ZipInfo(member) if isinstance(member, str) else member
            made.writestr(info, content, how)
    return packed.getvalue()


def test_a_folder_comes_back_as_it_was(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "run.json").write_bytes(b"{}")
    (tmp_path / "a" / "empty").touch()
    (tmp_path / "a" / "bwm-ng-0.csv").write_bytes(bytes(range(256)) * 1000)
    unpack(pack(tmp_path / "a"), tmp_path / "b")
    assert {p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()
    }


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/b", "..", ".hidden", "a\nb", "a/", "x" * 300])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    (tmp_path / "in").mkdir()
    with pytest.raises(RunFailed, match="which no run writes"):
        unpack(archive(name), tmp_path / "in")
    assert [path.name for path in tmp_path.rglob("*")] == ["in"]


def test_what_some_unpack_as_a_link_is_a_plain_file(tmp_path):
    link = zipfile.ZipInfo("a")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    unpack(archive(link, content=b"/etc/passwd"), tmp_path)
    assert stat.S_ISREG((tmp_path / "a").lstat().st_mode)
    assert (tmp_path / "a").read_bytes() == b"/etc/passwd"


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_packing_that_is_not_ours_is_refused(tmp_path, how):
    with pytest.raises(RunFailed, match="which no run writes"):
        unpack(archive("run.json", how=how), tmp_path)


def test_a_parcel_that_grows_without_end_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(parcel, "MAX_BYTES", 1000)
    for size, sane in ((1000, True), (1001, False)):
        folder = tmp_path / str(size)
        folder.mkdir()
        if sane:
            unpack(archive("run.json", content=bytes(size)), folder)
        else:
            with pytest.raises(RunFailed, match="larger than"):
                unpack(archive("run.json", content=bytes(size)), folder)
            assert list(folder.iterdir()) == []
    monkeypatch.setattr(parcel, "MAX_FILES", 2)
    with pytest.raises(RunFailed):
        unpack(archive("a", "b", "c"), tmp_path)


def test_a_file_that_is_larger_than_it_says_is_cut_there_and_refused(tmp_path):
    whole = archive("run.json", content=bytes(1 << 20))
    lie = whole.replace((1 << 20).to_bytes(4, "little"), (5).to_bytes(4, "little"))
    with pytest.raises(RunFailed, match="cannot be unpacked: Bad CRC-32"):
        unpack(lie, tmp_path)
    assert (tmp_path / "run.json").stat().st_size <= 5


@pytest.mark.parametrize("sent", [None, "text", b"", b"\x1f\x8b", b"no archive", {"run.json": b""}])
def test_what_is_no_parcel_is_said_to_be_none(tmp_path, sent):
    with pytest.raises(RunFailed, match="what the worker sent"):
        unpack(sent, tmp_path)


def test_a_parcel_cut_off_anywhere_is_refused(tmp_path):
    whole = archive("a", "b", content=bytes(range(256)) * 40)
    for number, size in enumerate(range(0, len(whole) - 1, 7)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(RunFailed):
            unpack(whole[:size], folder)


@given(st.data())
def test_a_parcel_with_any_bytes_changed_is_a_run_or_refused(tmp_path_factory, data):
    """Heads, table and content, wherever they are; a word about it, and no other exception."""
    whole = bytearray(archive("run.json", "iperf-0.txt", content=bytes(range(64))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("in")
    try:
        unpack(bytes(whole), folder)
    except RunFailed as refused:
        assert "what the worker sent" in str(refused)  # noqa: PT017, most changes are refused, some change content alone
    assert all(path.is_file() and path.stat().st_size <= 1 << 20 for path in folder.iterdir())


def test_the_same_name_twice_is_refused(tmp_path):
    with pytest.raises(RunFailed):
        unpack(archive("a", "a"), tmp_path)


def test_bytes_that_do_not_inflate_are_refused(tmp_path):
    whole = archive("run.json", content=b"x" * 1000)
    packed = zlib.compress(b"x" * 1000, wbits=-15)
    with pytest.raises(RunFailed):
        unpack(whole.replace(packed, b"\xff" * len(packed)), tmp_path)
