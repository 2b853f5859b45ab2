import dataclasses
import lzma
import tarfile

import pytest

from record.errors import UnfitMachine
from virtual import cache, kernel
from virtual.kernel import build, shipped


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(shipped.NAMED, raising=False)
    return tmp_path


@pytest.fixture
def tested(home, monkeypatch):
    """How often a kernel was tested."""
    times = []
    monkeypatch.setattr(shipped, "test", lambda linux: times.append(linux) or "seccomp")
    return times


def test_what_is_shipped_is_what_its_manifest_says_needs_no_library_and_tells_no_path():
    told, linux = shipped.manifest(), lzma.decompress(shipped.SHIPPED.read_bytes())
    assert shipped.sha256(shipped.SHIPPED.read_bytes()) == told["xz_sha256"]
    assert shipped.sha256(linux) == told["sha256"]
    assert told["changes_sha256"] == shipped.ours(), "hedera kernel build --ship, after a change of what we compile"
    assert told["package"] == f"{build.PACKAGE} {build.VERSION}"
    assert b"/ld-linux" not in linux
    assert b"/building." not in linux


def test_it_is_unpacked_and_tested_once_and_again_if_its_file_has_changed(tested):
    first = kernel.kernel(print)
    assert first == kernel.kernel(print)
    assert tested == [first.linux]
    assert shipped.sha256(first.linux.read_bytes()) == shipped.manifest()["sha256"] == first.sha256
    assert first.slow is None
    assert dataclasses.replace(first, mode="ptrace").slow
    first.linux.write_bytes(b"cut off")
    assert shipped.built() is None
    assert kernel.kernel(print).linux.read_bytes() != b"cut off"


@pytest.mark.parametrize("content", ["", "[]", "{}", "1", '{"linux": 1}'])
def test_a_record_that_is_none(tested, content):
    kernel.kernel(print)
    [record] = cache.folder("kernels").glob("*.json")
    record.write_text(content)
    assert shipped.built() is None


def test_a_kernel_that_fails_its_test_is_not_used(home, monkeypatch):
    def fails(linux):
        raise UnfitMachine("it does not boot")

    monkeypatch.setattr(shipped, "test", fails)
    with pytest.raises(UnfitMachine, match="it does not boot"):
        kernel.kernel(print)
    assert shipped.built() is None


def test_a_damaged_file_is_not_run(tested, monkeypatch, tmp_path):
    for content in (b"not xz", lzma.compress(b"another program")):
        damaged = tmp_path / "linux.xz"
        damaged.write_bytes(content)
        monkeypatch.setattr(shipped, "SHIPPED", damaged)
        with pytest.raises(UnfitMachine, match="git checkout"):
            kernel.kernel(print)
    assert tested == []


def test_another_source_is_another_kernel(tested, monkeypatch):
    first = kernel.kernel(print)
    monkeypatch.setenv(shipped.NAMED, "/usr/src/linux")
    assert shipped.built() is None
    mine = shipped.keep(b"mine", "6.12.1", "linux", print)
    assert shipped.built() == mine
    monkeypatch.delenv(shipped.NAMED)
    assert shipped.built() == first


# --- compiling ---

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = {minor}\nSUBLEVEL = 117\nEXTRAVERSION =\n"


def tree(folder, minor=12):
    (folder / "arch/um").mkdir(parents=True)
    (folder / "arch/um/Makefile").touch()
    (folder / "Makefile").write_text(MAKEFILE.format(minor=minor))
    return folder


def test_a_source_of_the_user_s(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "l.tar.gz", "w:gz") as archive:
        archive.add(tree(tmp_path / "linux-6.12"), "linux-6.12")
    (tmp_path / "work").mkdir()
    monkeypatch.setenv(shipped.NAMED, str(tmp_path / "l.tar.gz"))
    laid, name, digest = build.lay(tmp_path / "work", print)
    assert (build.version(laid), name) == ((6, 12, 117), "l.tar.gz")
    assert digest == shipped.sha256((tmp_path / "l.tar.gz").read_bytes())


PATCH = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{before}\n+{after}\n"


def test_older_sources_get_patches_of_their_own_besides_and_in_place_of_others(tmp_path, monkeypatch):
    patches = tmp_path / "patches"
    (patches / "before-6.13").mkdir(parents=True)
    for name, before, after in (
        ("1.patch", "all", "new"), ("before-6.13/1.patch", "all", "old"), ("before-6.13/2.patch", "old", "older"),
        (shipped.COPIES[1], "new", "copied"),
    ):  # fmt: skip
        (patches / name).write_text(PATCH.format(before=before, after=after))
    monkeypatch.setattr(shipped, "PATCHES", patches)
    for minor, content in ((12, "older"), (13, "new"), (16, "copied")):
        path = tree(tmp_path / str(minor), minor)
        (path / "f").write_text("all\n")
        build.change(path)
        assert (path / "f").read_text() == content + "\n"


def test_a_source_that_we_do_not_know_how_to_change(tmp_path):
    tree(tmp_path / "linux", 13)
    with pytest.raises(UnfitMachine, match="01-um-processes"):
        build.change(tmp_path / "linux")


def test_what_an_interrupted_compilation_left_is_removed_and_kernels_are_not(tested, monkeypatch):
    kept = kernel.kernel(print).linux
    left = cache.folder("kernels") / "building.killed" / "tree"
    left.mkdir(parents=True)
    monkeypatch.setattr(build, "tools", dict)
    monkeypatch.setenv(shipped.NAMED, "/nonexistent")
    with pytest.raises(UnfitMachine, match="/nonexistent"):
        build.compiled(print)
    assert (left.parent.exists(), kept.exists()) == (False, True)
