import os
import shutil
import tarfile

import pytest

from virtual import source
from virtual.errors import Unavailable

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n"


def tree(folder):
    (folder / "arch/um").mkdir(parents=True)
    (folder / "arch/um/Makefile").touch()
    (folder / "Makefile").write_text(MAKEFILE)
    return folder


def named(monkeypatch, path):
    monkeypatch.setenv(source.NAMED, str(path))
    [found] = source.candidates("", lambda sentence: None)
    return found


@pytest.mark.parametrize("packed", [False, True])
def test_a_source_of_the_user_s(packed, tmp_path, monkeypatch):
    path = tree(tmp_path / "linux-6.12")
    if packed:
        with tarfile.open(tmp_path / "l.tar.gz", "w:gz") as archive:
            archive.add(path, path.name)
        path = tmp_path / "l.tar.gz"
    (tmp_path / "work").mkdir()
    laid, _ = named(monkeypatch, path).lay(tmp_path / "work", os.environ)
    assert source.version(laid) == "6.12.117"


@pytest.mark.skipif(not shutil.which("xz"), reason="there is no xz here")
def test_it_is_unpacked_with_the_programs_that_were_fetched(tmp_path, monkeypatch):
    """A minimal system has tar, and not what it unpacks a distribution's sources with."""
    with tarfile.open(tmp_path / "l.tar.xz", "w:xz") as archive:
        archive.add(tree(tmp_path / "linux-6.12"), "linux-6.12")
    for name in ("system", "work", "fetched", "work2"):
        (tmp_path / name).mkdir()
    (tmp_path / "system/tar").symlink_to(shutil.which("tar"))
    (tmp_path / "fetched/xz").symlink_to(shutil.which("xz"))
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    found = named(monkeypatch, tmp_path / "l.tar.xz")
    with pytest.raises(Unavailable, match=r"l.tar.xz cannot be unpacked: tar.*: xz: Cannot exec"):
        found.lay(tmp_path / "work", {**os.environ, "LC_ALL": "C"})
    programs = {"PATH": f"{tmp_path}/fetched:{tmp_path}/system"}
    assert found.lay(tmp_path / "work2", programs)[0].is_dir()


def test_what_is_no_source(tmp_path, monkeypatch):
    with pytest.raises(Unavailable, match="which does not exist"):
        named(monkeypatch, tmp_path / "none")
    (tmp_path / "file").write_text("x")
    (tmp_path / "work").mkdir()
    with pytest.raises(Unavailable, match="file cannot be unpacked"):
        named(monkeypatch, tmp_path / "file").lay(tmp_path / "work", os.environ)
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unavailable, match="folder is not a Linux source"):
        named(monkeypatch, tmp_path / "folder").lay(tmp_path / "work2", os.environ)


def test_every_file_counts(tmp_path):
    path = tree(tmp_path / "linux")
    before = source.fingerprint(path)
    (path / "arch/um/Makefile").write_text("x")
    assert source.fingerprint(path) != before


def test_the_newest_package_comes_first():
    class Lists:
        def search(self, names):
            return ["linux-source-6.1", "linux-source-6.12", "linux-hwe-6.8-source-6.8.0"]

    found = source.packages(Lists())
    assert found == ["linux-source-6.12", "linux-hwe-6.8-source-6.8.0", "linux-source-6.1"]
