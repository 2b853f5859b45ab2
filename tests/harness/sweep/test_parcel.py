import io
import tarfile

import pytest

from harness.errors import RunFailed
from harness.sweep import parcel
from harness.sweep.parcel import pack, unpack


def archive(*members, content=b"x"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for member in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = len(content) if info.isreg() else 0
            made.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def odd(kind, **fields):
    info = tarfile.TarInfo("odd")
    info.type = kind
    for name, value in fields.items():
        setattr(info, name, value)
    return info


def test_a_folder_comes_back_as_it_was(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "run.json").write_bytes(b"{}")
    (tmp_path / "a" / "bwm-ng-0.csv").write_bytes(bytes(range(256)) * 1000)
    unpack(pack(tmp_path / "a"), tmp_path / "b")
    assert {p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()
    }


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/b", "..", ".hidden", "", "a\nb", "x" * 300])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    (tmp_path / "in").mkdir()
    with pytest.raises(RunFailed):
        unpack(archive(name), tmp_path / "in")
    assert [path.name for path in tmp_path.rglob("*")] == ["in"]


@pytest.mark.parametrize(
    "member",
    [
        odd(tarfile.SYMTYPE, linkname="/etc/passwd"),
        odd(tarfile.LNKTYPE, linkname="/etc/passwd"),
        odd(tarfile.FIFOTYPE),
        odd(tarfile.CHRTYPE, devmajor=1, devminor=5),
        odd(tarfile.DIRTYPE),
    ],
)
def test_nothing_but_plain_files_is_written(tmp_path, member):
    with pytest.raises(RunFailed, match="which no run writes"):
        unpack(archive(member), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_parcel_that_grows_without_end_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(parcel, "MOST_BYTES", 1000)
    with pytest.raises(RunFailed, match="larger than"):
        unpack(archive("run.json", content=bytes(2000)), tmp_path)
    monkeypatch.setattr(parcel, "MOST_FILES", 2)
    with pytest.raises(RunFailed):
        unpack(archive("a", "b", "c"), tmp_path)


@pytest.mark.parametrize("sent", [None, "text", b"", b"\x1f\x8b", b"no archive", {"run.json": b""}])
def test_what_is_no_parcel_is_said_to_be_none(tmp_path, sent):
    with pytest.raises(RunFailed, match="what the worker sent"):
        unpack(sent, tmp_path)


def test_a_parcel_cut_off_anywhere_is_refused(tmp_path):
    whole = archive("a", "b", content=bytes(range(256)) * 40)
    for number, size in enumerate(range(0, len(whole) - 8, 97)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(RunFailed):
            unpack(whole[:size], folder)


def test_the_same_name_twice_is_refused(tmp_path):
    with pytest.raises(RunFailed):
        unpack(archive("a", "a"), tmp_path)
