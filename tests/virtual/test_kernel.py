import dataclasses
import lzma
import platform
import shutil
import tarfile

import pytest

from record.errors import UnfitMachine
from virtual import cache, kernel
from virtual.kernel import build

needs_patch = pytest.mark.skipif(
    shutil.which("patch") is None, reason="patch is not installed (setup/apt-packages-check.txt)"
)


@pytest.fixture(autouse=True)
def on_x86_64(monkeypatch):
    """What is asked here boots no guest, and is the same on every processor."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.fixture
def tested(home, monkeypatch):
    """How often a kernel was tested."""
    times = []
    monkeypatch.setattr(kernel, "test", lambda linux: times.append(linux) or "seccomp")
    return times


@pytest.mark.parametrize("which", build.KERNELS)
def test_what_is_shipped_is_what_its_manifest_says_needs_no_library_and_tells_no_path(which):
    told, packed = kernel.read_manifest(which), kernel.name_packed_file(which).read_bytes()
    linux = lzma.decompress(packed)
    assert kernel.compute_sha256(packed) == told["xz_sha256"]
    assert kernel.compute_sha256(linux) == told["sha256"]
    assert told["changes_sha256"] == build.hash_ours(which), (
        "hedera kernel build --ship, after a change of what we compile"
    )
    assert told["package"] == f"{build.PACKAGE} {build.VERSION}"
    assert b"/ld-linux" not in linux
    assert b"/building." not in linux


def test_it_is_unpacked_and_tested_once_and_again_if_its_file_has_changed(tested):
    first = kernel.find_kernel(print)
    assert first == kernel.find_kernel(print)
    assert tested == [first.linux]
    assert kernel.compute_sha256(first.linux.read_bytes()) == kernel.read_manifest()["sha256"] == first.sha256
    assert first.slow is None
    assert dataclasses.replace(first, mode="ptrace").slow
    first.linux.write_bytes(b"cut off")
    assert kernel.find_built() is None
    assert kernel.find_kernel(print).linux.read_bytes() != b"cut off"


def test_a_record_that_is_none(tested):
    kernel.find_kernel(print)
    [record] = cache.make_folder("kernels").glob("*.json")
    for content in ("", "[]", "{}", "1", '{"linux": 1}'):
        record.write_text(content)
        assert kernel.find_built() is None, content


def test_a_kernel_that_fails_its_test_is_not_used(home, monkeypatch):
    def fails(linux):
        raise UnfitMachine("it does not boot")

    monkeypatch.setattr(kernel, "test", fails)
    with pytest.raises(UnfitMachine, match="it does not boot"):
        kernel.find_kernel(print)
    assert kernel.find_built() is None


def test_a_damaged_file_is_not_run(tested, monkeypatch, tmp_path):
    for content in (b"not xz", lzma.compress(b"another program")):
        damaged = tmp_path / "linux.xz"
        damaged.write_bytes(content)
        monkeypatch.setattr(kernel, "name_packed_file", lambda which, file=damaged: file)
        with pytest.raises(UnfitMachine, match="git checkout"):
            kernel.find_kernel(print)
    assert tested == []


def test_another_source_is_another_kernel(tested, monkeypatch):
    first = kernel.find_kernel(print)
    monkeypatch.setenv(build.NAMED, "/usr/src/linux")
    assert kernel.find_built() is None
    mine = kernel.keep(b"mine", "6.12.1", "linux", print, use=build.RUNS)
    assert kernel.find_built() == mine
    monkeypatch.delenv(build.NAMED)
    assert kernel.find_built() == first


def test_the_kernel_of_programs_is_another_one(tested):
    of_runs, of_programs = kernel.find_kernel(print), kernel.find_kernel(print, build.PROGRAMS)
    assert of_runs.sha256 != of_programs.sha256
    assert kernel.find_kernel(print) == of_runs
    assert tested == [of_runs.linux, of_programs.linux]
    runs, programs = (set(build.name_config_file(which).read_text().split()) for which in build.KERNELS)
    of_runs_alone = {line for line in runs - programs if line.startswith("CONFIG")}
    assert of_runs_alone == {"CONFIG_EPORT=y", "CONFIG_NET_SCH_HULL_PACER=y"}, "ports of runs, and their pacer"


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
    monkeypatch.setenv(build.NAMED, str(tmp_path / "l.tar.gz"))
    laid, name, digest = build.lay(tmp_path / "work", print)
    assert (build.read_version(laid), name) == ((6, 12, 117), "l.tar.gz")
    assert digest == kernel.compute_sha256((tmp_path / "l.tar.gz").read_bytes())


PATCH = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{before}\n+{after}\n"


@needs_patch
def test_older_sources_get_patches_of_their_own_besides_and_in_place_of_others(tmp_path, monkeypatch):
    patches = tmp_path / "patches"
    (patches / "before-6.13").mkdir(parents=True)
    (patches / "guest").mkdir()
    for name, before, after in (
        ("1.patch", "all", "new"), ("before-6.13/1.patch", "all", "old"), ("before-6.13/2.patch", "old", "older"),
        ("11-um-copies-of-a-guest.patch", "new", "copied"), ("guest/20.patch", "copied", "of programs"),
    ):  # fmt: skip
        (patches / name).write_text(PATCH.format(before=before, after=after))
    monkeypatch.setattr(build, "PATCHES", patches)
    runs, programs = build.KERNELS
    made = ((12, runs, "older"), (13, runs, "new"), (16, runs, "copied"), (17, programs, "of programs"))
    for minor, which, content in made:
        path = tree(tmp_path / str(minor), minor)
        (path / "f").write_text("all\n")
        build.change(path, which)
        assert (path / "f").read_text() == content + "\n"


def test_what_makes_runs_faster_is_not_in_the_kernel_of_programs():
    late, own = build.PATCHES / "12-x.patch", build.PATCHES / "guest" / "20-x.patch"
    of_both = build.PATCHES / "11-x.patch"
    assert [[build.is_applied(one, which) for one in (of_both, late, own)] for which in build.KERNELS] == [
        [True, True, False],
        [True, False, True],
    ]


@needs_patch
def test_a_source_that_we_do_not_know_how_to_change(tmp_path):
    tree(tmp_path / "linux", 13)
    with pytest.raises(UnfitMachine, match="01-um-processes"):
        build.change(tmp_path / "linux")


def test_what_an_interrupted_compilation_left_is_removed_and_kernels_are_not(tested, monkeypatch):
    kept = kernel.find_kernel(print).linux
    left = cache.make_folder("kernels") / "building.killed" / "tree"
    left.mkdir(parents=True)
    monkeypatch.setattr(build, "find_tools", dict)
    monkeypatch.setenv(build.NAMED, "/nonexistent")
    with pytest.raises(UnfitMachine, match="/nonexistent"):
        build.compile_kernel(print)
    assert (left.parent.exists(), kept.exists()) == (False, True)
